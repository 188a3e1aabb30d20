package offline

import (
	"slices"
	"strings"

	"hob/platform/text/lazyregexp"
)

// hostForm and repoForm match addresses without a scheme.
var (
	hostForm = lazyregexp.New(`^(?i)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:\d+)?([/?#].*)?$`)
	repoForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
)

// urlOf returns the URL that a token contains, either with "://" or as a host with or without a
// path. "notes.txt" is a file, not a host.
func (t token) urlOf() (string, bool) {
	s := t.sourceText()
	switch {
	case t.kind == link:
		return s, strings.HasPrefix(t.norm, "http") || strings.HasPrefix(t.norm, "feed")
	case t.kind == path && !strings.Contains(s, "/"), strings.HasPrefix(t.norm, "www.") && len(s) < 6:
		return "", false
	case t.kind != word && t.kind != path && t.kind != quoted:
		return "", false
	}
	return s, hostForm.MatchString(s)
}

// endings lists top-level domains that are not file extensions. "notes.md" and "run.sh" are files.
const endings = "com org net edu gov info biz io dev co eu us uk de fr it es nl be at ch cz sk lt lv ee fi se no dk ie ua ro hu gr bg hr si jp cn in au ca nz kr tr za mx ar"

// siteOf returns an address, or the bare name of a site. Next to a word such as "page",
// "example.org" is a site and not a file; "main.kt" is never a site.
func (t token) siteOf() (string, bool) {
	if s, ok := t.urlOf(); ok && (t.kind == link || strings.ContainsAny(s, "/:?#") || strings.HasPrefix(t.norm, "www.")) {
		return s, !strings.HasPrefix(strings.ToLower(s), "feed")
	}
	s := t.sourceText()
	if t.kind != path && t.kind != word && t.kind != quoted || strings.ContainsAny(s, "/\\ ") || !hostForm.MatchString(s) {
		return "", false
	}
	return s, slices.Contains(strings.Fields(endings), strings.ToLower(s[strings.LastIndexByte(s, '.')+1:]))
}

// repositoryOf returns the repository that a token names, in the form "owner/name" or as the
// address of its page on the site.
func (t token) repositoryOf(site string) (string, bool) {
	s := t.sourceText()
	if t.kind == link {
		_, rest, _ := strings.Cut(s, "://")
		return s, strings.Count(strings.TrimSuffix(rest, "/"), "/") == 2 && site != "" && strings.HasPrefix(strings.ToLower(rest), site+".")
	}
	if t.kind != word && t.kind != path && t.kind != quoted {
		return "", false
	}
	return s, repoForm.MatchString(s)
}

// sourceText returns a token as the user wrote it.
func (t token) sourceText() string {
	if t.inner != "" {
		return t.inner
	}
	return t.raw
}
