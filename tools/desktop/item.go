package desktop

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"hob/platform/host/desktop/apps"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxItem is the maximum length of the item to open, in bytes.
const maxItem = 4000

// judgedItem assesses opening a file or an address with an application. It always needs approval,
// because Hob cannot predict the effects of a file or a page in a program.
func (d Deps) judgedItem(a apps.App, given string) tools.CallAssessment {
	item, err := d.resolveItem(given)
	if err == nil && !a.Takes(item) {
		err = tools.Errorf(tools.InvalidArguments, "%s: %w", a.Name, tools.CleanErr(apps.ErrItem))
	}
	if err != nil {
		return tools.CallAssessment{Refused: err}
	}
	j := tools.CallAssessment{Effects: tools.Exec, Exact: exactItem(a, item), Why: "it opens " + textnorm.Ellipsize(item, 300) + " with " + appCommandLine(a)}
	if u, ok := parseAddress(item); ok {
		j.Effects |= tools.Egress
		if u.Scheme != "mailto" {
			j.URLs, j.Get = []string{item}, true
		}
	}
	return j
}

// resolveItem resolves the item to open: an address with a scheme that only opens pages or new
// emails, or the absolute path of a file that Hob may access.
func (d Deps) resolveItem(given string) (string, error) {
	bad := func(format string, args ...any) (string, error) {
		return "", tools.Errorf(tools.InvalidArguments, format, args...)
	}
	if len(given) > maxItem || given != strings.TrimSpace(given) || strings.ContainsFunc(given, unicode.IsControl) {
		return bad("the text is neither a file nor an address")
	}
	if u, ok := parseAddress(given); ok {
		switch {
		case u.User != nil:
			return bad("an address that contains a user name or a password cannot be opened")
		case u.Scheme == "mailto":
			for k := range u.Query() {
				if !slices.Contains([]string{"subject", "body", "cc", "to"}, strings.ToLower(k)) {
					return bad("a mailto: address with %q cannot be opened; allowed are subject, body, to and cc", tools.Clean(textnorm.Ellipsize(k, 40)))
				}
			}
			return u.String(), nil
		case u.Scheme != "http" && u.Scheme != "https":
			return bad("addresses with the scheme %s: cannot be opened; use http:, https: or mailto:", tools.Clean(textnorm.Ellipsize(u.Scheme, 40)))
		case u.Hostname() == "":
			return bad("the address has no host")
		}
		return u.String(), nil
	}
	if d.Reach == nil {
		return bad("file access is not configured")
	}
	return d.Reach(given)
}

// parseAddress parses s as an address. The letter of a Windows drive is not a scheme.
func parseAddress(s string) (*url.URL, bool) {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\ .~`) {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil {
		return &url.URL{Scheme: strings.ToLower(scheme), User: url.User("?")}, true // s looks like an address but has no valid target
	}
	return u, u.Scheme != ""
}

func exactItem(a apps.App, item string) string {
	sum := sha256.Sum256([]byte(item))
	return appBinding(a) + " with " + hex.EncodeToString(sum[:12])
}
