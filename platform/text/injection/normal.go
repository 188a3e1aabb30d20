package injection

import (
	_ "embed" // the table
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal normalizes a text: NFKC, no invisible characters, look-alikes folded to
// Latin letters, no accents, lower case. unseen is text written in invisible
// characters (Unicode tags). Normal is idempotent.
func Normal(text string) (plain, unseen string) {
	if isPlainASCII(text) {
		return strings.ToLower(text), ""
	}
	var b, tags strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			tags.WriteRune(r - 0xE0000)
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case unicode.IsControl(r), unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(foldConfusable(unicode.ToLower(foldConfusable(r))))
		}
	}
	plain = b.String()
	if !norm.NFKD.IsNormalString(plain) { // removing an invisible character made other characters adjacent
		plain = norm.NFKD.String(plain)
	}
	return plain, strings.ToLower(tags.String())
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < ' ' && s[i] != '\n' && s[i] != '\t' {
			return false
		}
	}
	return true
}

// foldConfusable folds letters of other scripts that look like Latin letters, and a few symbols
// (after the confusables of Unicode UTS 39). It also folds them within words of their own script,
// because the word lists do not contain such words.
func foldConfusable(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x1F130 && r <= 0x1F149: // squared letters
		return 'a' + r - 0x1F130
	case r >= 0x1F150 && r <= 0x1F169:
		return 'a' + r - 0x1F150
	case r >= 0x1F170 && r <= 0x1F189:
		return 'a' + r - 0x1F170
	case r >= 0x1F1E6 && r <= 0x1F1FF: // regional indicators
		return 'a' + r - 0x1F1E6
	}
	if l, ok := confusables()[r]; ok {
		return l
	}
	return r
}

//go:embed confusables.txt
var confusableText string

// confusables maps letters to the Latin letters they look like.
var confusables = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for line := range strings.Lines(confusableText) {
		r := []rune(strings.TrimSpace(line))
		for _, x := range r[2:] {
			if x >= 0x80 {
				m[x] = r[0]
			}
		}
	}
	return m
})

// framePattern detects the chat formats of models, and markup that a viewer executes. Most patterns
// have an anchor: a string that every match contains.
type framePattern struct {
	family  string
	needs   []string
	pattern string
	re      func() *regexp.Regexp
}

var forms = sync.OnceValue(func() []framePattern {
	list := []framePattern{
		{family: Impersonation, needs: []string{"<|", "[inst]", "[/inst]", "<<sys>>", "<start_of_turn>", "</s>"}, pattern: `<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)[^>]{0,20}\|?>|\[/?inst\]|<<sys>>|<start_of_turn>|</s>`},
		{family: Impersonation, needs: []string{"system", "assistant", "user", "developer", "human"}, pattern: `(?m)^[\s>#*\-=]*[<\[(#*]{1,3}\s*/?(?:system|assistant|developer|admin|human)(?:[ _-]?(?:prompt|message|instructions?|override|note|announ\S{0,20}))?\s*[>\])#*:]{1,3}`},
		{family: Impersonation, needs: []string{"system", "assistant", "human"}, pattern: `(?m)^\s*(?:system|assistant|human|new system prompt|system prompt|system message)\s*:\s+\S`},
		{family: Impersonation, needs: []string{"information>", "important>", "instruction>", "instructions>", "tool_call", "function_call", "tool_result", "tool_response"}, pattern: `</?\s*(?:information|important|instructions?|system-reminder|tool_(?:call|result|response)|function_calls?|invoke)\s*>`},
		{family: Commands, needs: []string{`"tool`, `"function`, `"name"`}, pattern: `\{\s*"(?:tool|function|tool_name|function_call|name)"\s*:\s*"[a-z_]{3,40}"\s*,\s*"(?:arguments|parameters|args|input)"`},
		{family: Exfiltration, needs: []string{"]("}, pattern: `!\[[^\]\n]{0,200}\]\(\s*<?https?:[^)\s]{0,300}(?:\?|=|%7b|\{|\$)[^)\s]{0,300}\)`},
		{family: Exfiltration, needs: []string{"<img", "<iframe", "<script", "<link", "url("}, pattern: `<(?:img|iframe|script|link|object|embed)[^>]{0,300}(?:\{\{|\$\{|%7b|document\.cookie|[?&](?:d|data|q|c|cookie|token|key|secret|content)=)`},
		{family: Commands, needs: []string{"curl ", "wget ", "rm -", "invoke-", "base64 -d", "powershell"}, pattern: `(?:curl|wget)\s[^\n|]{0,200}\|\s*(?:ba|z|da)?sh\b|\brm\s+-[rf]{1,2}\s|invoke-(?:webrequest|expression)|base64\s+-d[^\n]{0,60}\|\s*(?:ba|z)?sh|powershell\s+-e`},
	}
	for i := range list {
		p := list[i].pattern
		list[i].re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p) })
	}
	return list
})

// findFrames records the families whose prompt frames appear in a text.
func findFrames(_, plain string, found map[string]bool) {
	for _, f := range forms() {
		if found[f.family] {
			continue
		}
		for _, n := range f.needs {
			if strings.Contains(plain, n) {
				if f.re().MatchString(plain) {
					found[f.family] = true
				}
				break
			}
		}
	}
}
