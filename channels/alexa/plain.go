package alexa

// plain is a text without markup.
func plain(md string) string { return md }
