"""Programs of derivatives: gradients and Jacobians, and their memory."""
