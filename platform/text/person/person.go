// Package person changes the grammatical person of a text.
package person

import (
	"strings"
	"unicode"
)

// ToSecond converts English words of a user to the second person: "my sister's birthday" becomes
// "your sister's birthday".
func ToSecond(s string) string {
	var b strings.Builder
	previous := "^"
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && (isWordByte(s[end]) || s[end] == '\'' && end > i || strings.HasPrefix(s[end:], "’")) {
			if s[end] == '\'' || isWordByte(s[end]) {
				end++
				continue
			}
			end += len("’")
		}
		if end == i {
			b.WriteByte(s[i])
			if strings.IndexByte(".!?\n", s[i]) >= 0 {
				previous = ""
			}
			i++
			continue
		}
		w := s[i:end]
		b.WriteString(turnWord(w, previous))
		previous = strings.ToLower(w)
		i = end
	}
	return b.String()
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// turnWord returns the converted form of w. previous is the word before w.
func turnWord(w, previous string) string {
	to := ""
	switch strings.ReplaceAll(w, "’", "'") {
	case "my", "My":
		to = "your"
	case "our", "Our":
		to = "your"
	case "we", "We", "us":
		to = "you"
	case "mine", "Mine":
		to = "yours"
	case "myself", "Myself":
		to = "yourself"
	case "me", "Me", "I", "i":
		to = "you"
	case "I'm", "i'm":
		to = "you're"
	case "I've", "i've":
		to = "you've"
	case "I'd", "i'd":
		to = "you'd"
	case "I'll", "i'll":
		to = "you'll"
	case "am":
		if previous == "i" {
			return "are"
		}
		return w
	case "was":
		if previous == "i" {
			return "were"
		}
		return w
	default:
		return w
	}
	if unicode.IsUpper(rune(w[0])) && previous == "" {
		return strings.ToUpper(to[:1]) + to[1:]
	}
	return to
}
