package email

import "html"

func plainOf(md string) string { return md }
func htmlOf(md string) string  { return "<p>" + html.EscapeString(md) + "</p>" }
