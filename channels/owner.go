package channels

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Owners knows which senders are the owner, as proved by pairing. Its methods
// may be called concurrently. An error means that nobody knows: then nothing is
// taken.
type Owners interface {
	// IsOwner reports whether the owner has proved to be this sender.
	IsOwner(ctx context.Context, channel, sender string) (bool, error)
	// Pair takes the text of a sender who is not known, and reports whether it was
	// the code that the owner was shown elsewhere. Such a sender is the owner from
	// then on. In a group nobody is paired, and the code is worth nothing any more:
	// others have read it.
	Pair(ctx context.Context, in Inbound) (bool, error)
}

// Pairer is Owners that can tell, without counting it as a try, whether a message has the
// form of a code while one is open on its channel.
type Pairer interface {
	Pairs(ctx context.Context, in Inbound) (bool, error)
}

// Deaf marks a channel on which nobody can write to Hob.
type Deaf interface{ Deaf() }

// PairedCommand stands in the place of the code that a sender was paired by: the
// code itself enters no conversation.
const PairedCommand = "/paired"

// SenderID is the form in which ids of senders are stored and compared, as a
// whole and exactly: an address in lower case, a telephone number without what
// divides it, everything else as it is. It is "", which is nobody, for what has
// characters that cannot be seen, or some that only look like one of ASCII and
// would become it, as the Kelvin sign would become a k.
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
