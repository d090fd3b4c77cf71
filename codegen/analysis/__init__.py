"""What is known of loop programs: dependences, what crosses tasks, and the verifier."""
