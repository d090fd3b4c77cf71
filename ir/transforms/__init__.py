"""Programs made of derivatives: gradients, Jacobians, and the memory that they take."""
