package channels

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Owners identifies the owner's accounts that are proven by pairing. Its methods may be called
// concurrently. If a method returns an error, the sender is unknown and the message is not
// accepted.
type Owners interface {
	// IsOwner reports whether this sender is a paired account of the owner.
	IsOwner(ctx context.Context, channel, sender string) (bool, error)
	// Pair reports whether the text from an unknown sender is the pairing code that the owner was
	// shown elsewhere. From then on the sender counts as the owner. A group message pairs no one
	// and makes the code invalid, because other members have read it.
	Pair(ctx context.Context, in Inbound) (bool, error)
}

// Pairer is an Owners that can check, without counting an attempt, whether a message looks like a
// pairing code while a code is valid on its channel.
type Pairer interface {
	Pairs(ctx context.Context, in Inbound) (bool, error)
}

// SendOnly marks a channel that only sends.
type SendOnly interface{ Deaf() }

// PairedCommand replaces a pairing code, so that the code itself is not stored in a conversation.
const PairedCommand = "/paired"

// SenderID returns the normalized form in which sender ids are stored and compared. An address is
// converted to lower case, a telephone number loses its separators, and other ids stay unchanged.
// SenderID returns "", which matches no one, for ids with invisible characters or with characters
// that case folding turns into ASCII, such as the Kelvin sign.
func SenderID(s string) string {
	if strings.ContainsFunc(s, becomesASCII) {
		return ""
	}
	s = norm.NFC.String(strings.TrimSpace(s))
	if strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) || strings.ContainsRune(s, unicode.ReplacementChar) || len(s) > 500 {
		return ""
	}
	switch {
	case strings.HasPrefix(s, "+"):
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" -.()/", r) {
				return -1
			}
			return r
		}, s)
	case strings.Contains(s, "@"):
		return strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s)
	}
	return s
}

func becomesASCII(r rune) bool {
	return r >= utf8.RuneSelf && norm.NFC.String(string(r))[0] < utf8.RuneSelf
}
