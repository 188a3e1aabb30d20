package skills

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"hob/platform/text/credential"
	"hob/platform/text/injection"
	"hob/platform/text/visible"
)

// Report shows what a skill may do and what is suspicious in it.
type Report struct {
	Skill

	// Body is the text of the instructions.
	Body string
	// Scripts lists the skill's programs. Hosts lists the hosts of the addresses in its files,
	// which does not grant access to them.
	Scripts, Hosts []string
	Findings       []Finding
}

// Finding is something suspicious in a file of a skill.
type Finding struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // 0: the whole file
	What string `json:"what"`
}

// ReadFolder validates and inspects the skill in a folder. The folder must have the name of the
// skill.
func ReadFolder(dir string) (Report, error) {
	c, err := readCandidate(dir)
	if err != nil {
		return Report{}, err
	}
	c.Report.Dir = dir
	return c.Report, nil
}

// readCandidate reads a skill from a folder, which must have the name of the skill.
func readCandidate(dir string) (*Candidate, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t, err := readTree(abs, true)
	if err != nil {
		return nil, err
	}
	return newCandidate(t, filepath.Base(abs), abs)
}

// newCandidate validates and inspects the files of a skill.
func newCandidate(t tree, folder, from string) (*Candidate, error) {
	s, err := t.parseSkill(folder)
	if err != nil {
		return nil, err
	}
	s.From = from
	c := &Candidate{Report: Report{Skill: *s, Body: s.text}, files: t, from: from}
	hosts := map[string]bool{}
	for _, f := range s.Files {
		if f.Script {
			c.Scripts = append(c.Scripts, f.Path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		b := t[name].data
		c.Findings = append(c.Findings, scanFile(name, b)...)
		if utf8.Valid(b) {
			for _, raw := range webAddress().FindAllString(string(b), 1000) {
				if u, err := url.Parse(raw); err == nil && u.Hostname() != "" && len(hosts) < 100 {
					hosts[strings.ToLower(u.Hostname())] = true
				}
			}
		}
	}
	c.Hosts = slices.Sorted(maps.Keys(hosts))
	if len(c.Findings) > maxFindings {
		c.Findings = append(c.Findings[:maxFindings:maxFindings], Finding{File: manifestFile, What: fmt.Sprintf("%d more suspicious places", len(c.Findings)-maxFindings)})
	}
	return c, nil
}

// maxFindings is the maximum number of findings in a report.
const maxFindings = 20

var webAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:https?|wss?|ftp)://[^\s<>"'` + "`" + `)\]}]+`)
})

// suspicion is a pattern of text that a harmless skill rarely needs.
type suspicion struct {
	what string
	at   *regexp.Regexp
}

// suspicions returns the patterns. They match single lines.
var suspicions = sync.OnceValue(func() []suspicion {
	var out []suspicion
	for _, p := range []struct{ what, pattern string }{
		{"tells the model to skip checks or approvals", `(disable|turn(ing)? off|switch(ing)? off|bypass|circumvent|skip|ignore|avoid|without)\W+(\w+\W+){0,4}(approvals?|confirmation|consent|guard(rails?)?|sandbox(ing)?|safety|polic(y|ies)|permissions?|restrictions?|asking)\b`},
		{"tells the model to skip checks or approvals", `--(yes-always|no-verify|no-sandbox|dangerously[a-z-]*|trust)\b|auto[- ]?approve`},
		{"tells the model to hide something from the user", `\b(do not|don't|never|without)\W+(tell|show|mention|inform|reveal|report|notify|telling|showing|mentioning|informing)\W+(\w+\W+){0,3}(user|owner|human|anyone|anybody)\b|\b(secretly|covertly|silently)\s+(send|post|upload|copy|forward|run|execute|install)\b`},
		{"asks for secrets", `\b(send|post|upload|print|paste|read|copy|collect|find|forward|include|show|cat|ask for|enter|reveal)\b\W+(\w+\W+){0,6}(passwords?|api[ _-]?keys?|access tokens?|private keys?|ssh keys?|secret keys?|credentials|seed phrases?|keychain|cookies)\b`},
		{"asks for secrets", `(~|\$HOME|/home/\w+|/root)/\.(ssh|aws|gnupg|kube|netrc|config/gcloud)\b|\bid_(rsa|ed25519|ecdsa)\b|\b\.git-credentials\b`},
		{"runs code from the network", `\b(curl|wget|fetch|iwr|invoke-webrequest)\b[^|;&]*[|]\s*(sudo\s+)?(ba|z|da)?sh\b|\b(curl|wget)\b[^|;&]*[|]\s*(sudo\s+)?(python3?|perl|ruby|node)\b|(ba|z)?sh\s+(-c\s+)?["']?[<$]\(\s*(curl|wget)|\biex\b.*\b(downloadstring|iwr)\b`},
		{"decodes hidden code", `\bbase64\s+(-d|--decode|-D)\b|\b(b64decode|fromhex|atob|FromBase64String|unhexlify)\s*\(`},
		{"contains an encoded block", `[A-Za-z0-9+/_-]{240,}={0,2}|(\\x[0-9a-fA-F]{2}){40,}|[0-9a-fA-F]{256,}`},
		{"claims to change the model's orders", `\b(ignore|disregard|forget|override)\W+(\w+\W+){0,3}(previous|prior|above|earlier|system|all)\W+(\w+\W+){0,2}(instructions?|rules?|prompts?|orders?|messages?)\b`},
	} {
		out = append(out, suspicion{p.what, regexp.MustCompile(`(?i)` + p.pattern)})
	}
	return out
})

// scanFile returns what is suspicious in a file. Most findings in an honest skill are harmless; the
// user decides about them.
func scanFile(name string, b []byte) (out []Finding) {
	if isProgram(b) {
		return []Finding{{File: name, What: "is a compiled program that cannot be inspected"}}
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil // pictures, fonts and other data
	}
	text := string(b)
	found := map[string]bool{}
	add := func(line int, what string) {
		if !found[what] {
			found[what] = true
			out = append(out, Finding{File: name, Line: line, What: what})
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if hasHidden(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "\uFEFF")) {
			add(n, "contains invisible characters")
		}
		if len(line) > 20_000 {
			add(n, "contains a very long line that cannot be inspected")
			continue
		}
		for _, s := range suspicions() {
			if !found[s.what] && s.at.MatchString(line) {
				add(n, s.what)
			}
		}
		if !found["contains a credential"] && len(credential.Find("", line)) > 0 {
			add(n, "contains a credential")
		}
	}
	if strings.HasSuffix(strings.ToLower(name), ".md") || strings.HasSuffix(strings.ToLower(name), ".txt") {
		if marks := injection.Scan(text); len(marks) > 0 {
			add(0, "looks like an attack on the model ("+strings.Join(marks, ", ")+")")
		}
	}
	return out
}

func hasHidden(s string) bool {
	prev := rune(0)
	for _, r := range s {
		if visible.Hidden(prev, r) {
			return true
		}
		prev = r
	}
	return false
}

// isProgram reports whether b begins like an ELF, Mach-O or Windows program.
func isProgram(b []byte) bool {
	for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(b, []byte(magic)) && !utf8.Valid(b[:min(len(b), 512)]) {
			return true
		}
	}
	return false
}
