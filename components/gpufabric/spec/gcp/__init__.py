"""What a user may ask for on Google Cloud."""
