package offline

import (
	"regexp"
	"strings"
)

// host and repo are what addresses without a scheme look like.
const (
	hostForm = `^(?i)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:\d+)?([/?#].*)?$`
	repoForm = `^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`
)

// address is the address on the web that a token is: with "://", or a host with
// or without a path. "notes.txt" is a file.
func (t token) address() (string, bool) {
	s := t.whole()
	switch {
	case t.kind == link:
		return s, strings.HasPrefix(t.norm, "http") || strings.HasPrefix(t.norm, "feed")
	case t.kind == path && !strings.Contains(s, "/"), strings.HasPrefix(t.norm, "www.") && len(s) < 6:
		return "", false
	case t.kind != word && t.kind != path && t.kind != quoted:
		return "", false
	}
	return s, regexp.MustCompile(hostForm).MatchString(s)
}

// repository is "owner/name", or the address of its page.
func (t token) repository() (string, bool) {
	s := t.whole()
	if t.kind == link {
		_, rest, _ := strings.Cut(s, "://")
		return s, strings.Count(strings.TrimSuffix(rest, "/"), "/") == 2 && strings.HasPrefix(strings.ToLower(rest), "github.")
	}
	if t.kind != word && t.kind != path && t.kind != quoted {
		return "", false
	}
	return s, regexp.MustCompile(repoForm).MatchString(s)
}

// whole is a token as it was written.
func (t token) whole() string {
	if t.inner != "" {
		return t.inner
	}
	return t.raw
}
