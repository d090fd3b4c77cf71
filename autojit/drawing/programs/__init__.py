"""Pictures of programs, of derivatives beside their functions, and of fused loops."""
