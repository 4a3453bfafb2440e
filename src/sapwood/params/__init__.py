"""Parameters: declaration, validation, presets, aliases of other libraries, resolution, compatibility."""
