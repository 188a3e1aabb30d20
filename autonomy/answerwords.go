package autonomy

import (
	"regexp"
	"strings"
)

// everything selects the complete batch that was shown, as in "/yes all".
const everything = "all"

// plainAnswer is the meaning of a message without a command as an answer to a question.
type plainAnswer struct {
	yes, all bool
	// talk marks conversational agreement, such as "ok". It decides nothing.
	talk bool
}

// address matches the name with which people address Hob in a group.
var address = regexp.MustCompile(`(?i)^@?hob[,:]?\s+`)

// yesWords and noWords answer a question. Vaguer words are conversation: people say "ok" in
// many other situations.
const (
	yesWords  = "|yes|y|ja|oui|si|sí|yes please|approve|"
	noWords   = "|no|n|nein|non|nope|no thanks|don't|do not|deny|cancel|"
	talkWords = "|ok|okay|k|sure|do it|go ahead|yep|yeah|yup|confirm|confirmed|fine|alright|all right|go|proceed|of course|please do|sounds good|agreed|d'accord|in ordnung|klar|vale|claro|genau|"
	allYes    = "|yes to all|yes all|yes to all of them|approve all|all yes|"
	allNo     = "|no to all|no all|no to all of them|deny all|all no|none|none of them|"
)

// parseAnswer parses a bare yes or no, also "Hob, yes", or a word of agreement.
func parseAnswer(text string) (plainAnswer, bool) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	text = strings.ToLower(strings.Trim(text, ".,!?;: \t\r\n"))
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\u2019", "'")), " ")
	if text == "" || len(text) > 40 || strings.Contains(text, "|") {
		return plainAnswer{}, false
	}
	switch word := "|" + text + "|"; {
	case strings.Contains(allYes, word):
		return plainAnswer{yes: true, all: true}, true
	case strings.Contains(allNo, word):
		return plainAnswer{all: true}, true
	case strings.Contains(yesWords, word):
		return plainAnswer{yes: true}, true
	case strings.Contains(noWords, word):
		return plainAnswer{}, true
	case strings.Contains(talkWords, word):
		return plainAnswer{talk: true}, true
	}
	return plainAnswer{}, false
}

// MayDecide reports whether a text of the owner may answer a question or order
// something, as commands do, rather than only be talk.
func MayDecide(text string) bool {
	name, _ := parseCommand(text)
	said, answer := parseAnswer(text)
	return name != "" || answer && !said.talk
}
