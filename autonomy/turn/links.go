package turn

import (
	"regexp"
	"strings"
	"sync"

	"hob/autonomy/llm"
)

// address matches addresses and pictures in a model's answer that a viewer would turn into links.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)!?\[[^\]\n]{0,300}\]\(\s*<?([^\s)>]+)|(?:https?|ftp|file|data|javascript)(?::|%3a)[^\s<>"'` + "`" + `)\]}]+|\bwww\.[^\s<>"'` + "`" + `)\]}]+`)
})

// defuseLinks returns an answer in the form to deliver. With untrusted text in context, the address
// of a link that only the model wrote may contain private data: opening or previewing the link
// would leak it. So such links and all pictures are made inactive.
func (c *conversation) defuseLinks(text string) string {
	if !c.isTainted() || !strings.ContainsAny(text, ":.[%") {
		return text
	}
	return address().ReplaceAllStringFunc(text, func(m string) string {
		target := m
		if i := strings.LastIndex(m, "]("); i >= 0 && strings.IndexByte("![", m[0]) >= 0 {
			target = strings.Trim(m[i+2:], " \t<")
		}
		if m[0] == '!' {
			return "(a picture at) " + breakAddress(m[1:])
		}
		if c.isKnownAddress(strings.TrimRight(target, ".,;:!?*_~")) {
			return m
		}
		return breakAddress(m)
	})
}

// breakAddress changes a text so that it is no longer an address.
func breakAddress(s string) string {
	s = regexp.MustCompile(`(?i)h(tt)(ps?)(:|%3a)`).ReplaceAllString(s, "hxx$2$3")
	s = regexp.MustCompile(`(?i)\b(ftp|file|data|javascript)(:|%3a)`).ReplaceAllString(s, "$1 $2")
	s = regexp.MustCompile(`(?i)\bwww\.`).ReplaceAllString(s, "www[.]")
	return strings.ReplaceAll(s, "](//", "](")
}

// isKnownAddress reports whether a message to Hob or a tool result contains the complete address.
func (c *conversation) isKnownAddress(address string) bool {
	if address == "" {
		return true
	}
	for _, m := range c.msgs {
		if m.Role == llm.Assistant {
			continue
		}
		for _, p := range m.Parts {
			text := p.Text
			if p.Result != nil {
				text = p.Result.Text
			}
			if hasWholeAddress(text, address) {
				return true
			}
		}
	}
	return false
}

// hasWholeAddress reports whether a text contains an address that ends there. A prefix of a longer
// address could encode data by where it ends.
func hasWholeAddress(text, address string) bool {
	for {
		i := strings.Index(text, address)
		if i < 0 {
			return false
		}
		text = text[i+len(address):]
		if rest := strings.TrimLeft(text, ".,;:!?*_~"); rest == "" || strings.IndexByte(" \t\r\n<>\"'`)]}|\\", rest[0]) >= 0 {
			return true
		}
	}
}
