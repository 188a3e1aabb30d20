package document

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"

	"hob/platform/text/lazyregexp"
)

// Detect returns the type of a file, based on its content and, for text formats, also on its name.
// It also returns a name for some unsupported types.
func Detect(name string, data []byte) string {
	head := data[:min(len(data), 1024)]
	switch {
	case len(bytes.TrimSpace(head)) == 0 && len(data) <= len(head):
		return "empty"
	case bytes.Contains(head, []byte("%PDF-")):
		return "pdf"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return archiveFormat(data)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")): // [MS-CFB]
		return "old office"
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return "rich text (RTF)"
	}
	if kind := http.DetectContentType(head); !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream" {
		kind, _, _ = strings.Cut(kind, ";")
		if strings.HasPrefix(kind, "image/") {
			return "image"
		}
		if slices.Contains([]string{"application/x-gzip", "application/x-rar-compressed"}, kind) {
			return "archive"
		}
		return kind
	}
	text, ok := DecodeText(head)
	if !ok {
		return "binary data"
	}
	return textFormat(strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))), text, data)
}

// archiveFormat identifies ZIP-based formats by the files that the archive contains.
func archiveFormat(data []byte) string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "archive"
	}
	types := false
	for i, f := range z.File {
		if i > 2000 {
			break
		}
		switch f.Name {
		case "META-INF/container.xml":
			return "epub"
		case "[Content_Types].xml":
			types = true
		}
	}
	if !types {
		return "archive"
	}
	for _, f := range z.File {
		switch f.Name {
		case "word/document.xml":
			return "docx"
		case "xl/workbook.xml":
			return "xlsx"
		case "ppt/presentation.xml":
			return "pptx"
		}
	}
	return "archive"
}

var (
	mailHeader = lazyregexp.New(`(?i)^(received|return-path|delivered-to|from|to|date|subject|message-id|mime-version|x-[a-z0-9-]+|dkim-signature|reply-to|content-type): `)
	fence      = lazyregexp.New("(?m)^(#{1,6} \\S|```|\\* \\S|- \\[[ x]\\])")
)

// textFormat determines the format of a text file.
func textFormat(ext, head string, data []byte) string {
	start := strings.TrimLeft(head, "\ufeff \t\r\n")
	low := strings.ToLower(start[:min(len(start), 64)])
	switch {
	case strings.HasPrefix(low, "begin:vcalendar"):
		return "calendar"
	case strings.HasPrefix(low, "begin:vcard"):
		return "cards"
	case strings.HasPrefix(start, "From ") && strings.Contains(start, "\n") && mailHeader.MatchString(afterFirstLine(start)):
		return "mailbox"
	case ext == ".eml" || ext == ".mbox" || isMail(start):
		return "mail"
	case strings.HasPrefix(low, "<!doctype html"), strings.HasPrefix(low, "<html"), ext == ".html" || ext == ".htm" || ext == ".xhtml":
		return "html"
	}
	if sourceLanguage(ext) != "" {
		return "code"
	}
	switch ext {
	case ".md", ".markdown", ".mdown", ".mkd":
		return "markdown"
	case ".csv", ".tsv":
		return "csv"
	case ".jsonl", ".ndjson":
		return "jsonl"
	case ".json", ".geojson":
		return "json"
	case ".txt", ".text", ".log":
		return "text"
	}
	switch {
	case strings.HasPrefix(low, "<?xml") && strings.Contains(strings.ToLower(head), "<html"):
		return "html"
	case (strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[")) && json.Valid(bytes.TrimSpace(data)):
		return "json"
	case len(fence.FindAllStringIndex(head, 2)) == 2:
		return "markdown"
	}
	return "text"
}

// afterFirstLine returns the text after the first line.
func afterFirstLine(s string) string {
	_, rest, _ := strings.Cut(s, "\n")
	return rest
}

// isMail reports whether a text begins with a combination of header fields that occurs only in
// email messages.
func isMail(s string) bool {
	names := map[string]bool{}
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == "" {
			break
		}
		if l[0] == ' ' || l[0] == '\t' {
			continue
		}
		m := mailHeader.FindStringSubmatch(l)
		if m == nil {
			if !strings.Contains(l, ": ") {
				return false
			}
			continue
		}
		names[strings.ToLower(m[1])] = true
	}
	return names["received"] && names["from"] || names["from"] && names["date"] && (names["message-id"] || names["mime-version"] || names["subject"] && names["to"])
}
