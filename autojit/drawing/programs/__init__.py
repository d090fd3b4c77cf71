"""Pictures of programs, of derivatives beside their values, and of fused loops."""
