package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shape is a kind of credential with a recognizable format. A credential begins with one of the
// anchors. The pattern is compiled on first use and is tried only at an anchor.
type shape struct {
	anchors []string
	pattern string
	// within is true if letters and digits may directly precede the anchor.
	within bool
	// back reports whether a character before the anchor belongs to the credential.
	back func(c byte) bool
	// keep selects the part of a match to redact. If it is nil, the whole match is redacted.
	keep func(match string) (from, to int)

	once sync.Once
	re   *regexp.Regexp
}

// shapes is the list of formats that issuers document or that secret scanners
// detect (docs.github.com "secret scanning patterns").
var shapes = sync.OnceValue(func() []*shape {
	return []*shape{
		{anchors: []string{"-----BEGIN "}, within: true, pattern: `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`},
		{anchors: []string{"AGE-SECRET-KEY-1"}, pattern: `AGE-SECRET-KEY-1[0-9A-Z]{50,}`},
		{anchors: []string{"sk-"}, pattern: `sk-[A-Za-z0-9_-]{20,}`}, // keys of OpenAI, Anthropic, OpenRouter and DeepSeek
		{anchors: []string{"AIza"}, pattern: `AIza[0-9A-Za-z_-]{35}`},
		{anchors: []string{"ya29."}, pattern: `ya29\.[0-9A-Za-z_-]{20,}`},
		{anchors: []string{"GOCSPX-"}, pattern: `GOCSPX-[0-9A-Za-z_-]{20,}`},
		{anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, pattern: `gh[pousr]_[A-Za-z0-9]{36,}`},
		{anchors: []string{"github_pat_"}, pattern: `github_pat_[A-Za-z0-9_]{40,}`},
		{anchors: []string{"glpat-"}, pattern: `glpat-[A-Za-z0-9_-]{20,}`},
		{anchors: []string{"xox", "xapp-"}, pattern: `(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,}`},
		{anchors: []string{"hooks.slack.com/"}, pattern: `hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}`},
		{anchors: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, pattern: `(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`},
		{
			anchors: []string{"ws_secret", "WS_SECRET", "ecretAccessKey", "ecret_access_key"}, within: true,
			pattern: `(?i)[a-z_]{9,30}["']?\s*[=:]\s*["']?[A-Za-z0-9/+]{40}\b`, keep: assignedValue,
		},
		{anchors: []string{"AccountKey="}, pattern: `AccountKey=[A-Za-z0-9+/=]{60,}`, keep: assignedValue},
		{anchors: []string{":AA"}, back: isDigit, pattern: `[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}`}, // Telegram
		{anchors: []string{"eyJ"}, pattern: `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`},
		{anchors: []string{"sk_live_", "rk_live_", "sk_test_", "whsec_"}, pattern: `(?:[sr]k_(?:live|test)|whsec)_[0-9A-Za-z]{16,}`},
		{anchors: []string{"SG."}, pattern: `SG\.[\w-]{20,}\.[\w-]{30,}`},
		{anchors: []string{"npm_"}, pattern: `npm_[A-Za-z0-9]{36}`},
		{anchors: []string{"hf_"}, pattern: `hf_[A-Za-z0-9]{30,}`},
		{anchors: []string{"gsk_"}, pattern: `gsk_[A-Za-z0-9]{40,}`},
		{anchors: []string{"xai-"}, pattern: `xai-[A-Za-z0-9]{40,}`},
		{anchors: []string{"pplx-"}, pattern: `pplx-[A-Za-z0-9]{30,}`},
		{anchors: []string{"tvly-"}, pattern: `tvly-[A-Za-z0-9-]{20,}`},
		{anchors: []string{"dop_v1_"}, pattern: `dop_v1_[a-f0-9]{64}`},
		{anchors: []string{"ntn_"}, pattern: `ntn_[A-Za-z0-9]{40,}`},
		{anchors: []string{"Bearer ", "bearer ", "BEARER "}, pattern: `(?i)bearer +[A-Za-z0-9._~+/=-]{20,}`, keep: func(m string) (int, int) { return strings.LastIndexByte(m, ' ') + 1, len(m) }},
	}
})

// assignedValue returns the range of the text after the last = or : of a match.
func assignedValue(m string) (from, to int) {
	i := strings.IndexAny(m, "=:")
	if i < 0 {
		return 0, len(m)
	}
	for i++; i < len(m) && strings.IndexByte(" \t\"'", m[i]) >= 0; i++ {
	}
	return i, len(m)
}

// redactShapes redacts text in the format of a credential.
func redactShapes(s string, iban bool) string {
	if len(s) < minPattern {
		return s
	}
	for _, x := range shapes() {
		for _, a := range x.anchors {
			s = x.redactMatches(s, a)
		}
	}
	s = redactURLPasswords(s)
	s = redactDiscordTokens(s)
	s = redactCards(s)
	if iban {
		s = redactIBANs(s)
	}
	return s
}

// redactMatches redacts matches of the pattern that begin with anchor.
func (x *shape) redactMatches(s, anchor string) string {
	for i := 0; ; {
		n := strings.Index(s[i:], anchor)
		if n < 0 {
			return s
		}
		at := i + n
		for x.back != nil && at > i && x.back(s[at-1]) {
			at--
		}
		i += n + len(anchor)
		if !x.within && at > 0 && isTokenByte(s[at-1]) && s[at-1] != '-' {
			continue
		}
		x.once.Do(func() { x.re = regexp.MustCompile(`\A(?:` + x.pattern + `)`) })
		m := x.re.FindString(s[at:])
		if m == "" {
			continue
		}
		from, to := 0, len(m)
		if x.keep != nil {
			from, to = x.keep(m)
		}
		if m[from:to] != Mark {
			s = s[:at+from] + Mark + s[at+to:]
		}
		i = at + from + len(Mark)
	}
}

// redactURLPasswords redacts passwords in addresses: scheme://user:password@host.
func redactURLPasswords(s string) string {
	for i := 0; ; {
		n := strings.Index(s[i:], "://")
		if n < 0 {
			return s
		}
		i += n + 3
		end := strings.IndexAny(s[i:min(len(s), i+300)], "/?# \t\r\n\"'<>`")
		if end < 0 {
			end = min(len(s), i+300) - i
		}
		host := strings.LastIndexByte(s[i:i+end], '@')
		if host < 0 {
			continue
		}
		colon := strings.IndexByte(s[i:i+host], ':')
		if colon < 0 || host-colon < 4 || s[i+colon+1:i+host] == Mark {
			continue
		}
		s = s[:i+colon+1] + Mark + s[i+host:]
		i += colon + 1 + len(Mark)
	}
}

// redactDiscordTokens redacts Discord tokens. They have no fixed prefix: they consist of a base64
// id, 6 characters, and 27 or more characters, joined by dots.
func redactDiscordTokens(s string) string {
	for i := 0; ; {
		d := strings.IndexByte(s[i:], '.')
		if d < 0 {
			return s
		}
		d += i
		i = d + 1
		if d+8 > len(s) || s[d+7] != '.' || tokenRunLen(s[d+1:d+7]) != 6 {
			continue
		}
		from := d
		for from > 0 && isTokenByte(s[from-1]) {
			from--
		}
		end := d + 8 + tokenRunLen(s[d+8:])
		if n := d - from; n < 23 || n > 28 || strings.IndexByte("MNO", s[from]) < 0 || end-d-8 < 27 {
			continue
		}
		s = s[:from] + Mark + s[end:]
		i = from + len(Mark)
	}
}

// tokenRunLen returns the number of leading characters that may belong to a token.
func tokenRunLen(s string) int {
	n := 0
	for n < len(s) && isTokenByte(s[n]) {
		n++
	}
	return n
}

func isTokenByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// decodedReadings returns the decoded forms of an outgoing text in which secrets are searched for.
func decodedReadings(text string) []string {
	out := []string{text}
	plain := text
	for range 3 { // the text may have been escaped several times
		next, err := url.PathUnescape(strings.ReplaceAll(plain, "+", " "))
		if err != nil {
			next = unescapeValid(plain)
		}
		if next == plain {
			break
		}
		plain = next
		out = append(out, plain)
	}
	spread := alphanumericLower(plain)
	back := []byte(spread)
	slices.Reverse(back)
	return append(out, spread, string(back))
}

// unescapeValid decodes the valid percent escapes in s and keeps invalid ones.
func unescapeValid(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
