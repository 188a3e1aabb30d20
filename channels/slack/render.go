package slack

// render is temporary.
func render(md string) string { return escaped(md) }
