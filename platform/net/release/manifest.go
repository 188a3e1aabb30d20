// Package release checks for a newer version of Hob. It downloads a manifest from
// the project's address and accepts it only if it is signed with the project's
// key (minisign format: Ed25519 over BLAKE2b), currently valid, has a build for
// this machine and is not older than the running version. Program downloads the
// named file, verifies its checksum and replaces the running program.
package release

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"
)

// Limits of a manifest and its signature.
const (
	maxManifest  = 256 << 10
	maxSignature = 4 << 10
	maxNotes     = 4000
	maxFiles     = 200
	maxText      = 1000
)

// program is the program name that a manifest must contain, because the key may also sign other
// files.
const program = "hob"

// soon is the limit for how far a release date may be in the future, because clocks differ.
const soon = 24 * time.Hour

// Reasons why a manifest is rejected.
var (
	ErrSignature = errors.New("not signed with the project's key")
	ErrFormat    = errors.New("not a Hob release manifest")
	ErrExpired   = errors.New("the manifest has expired")
	ErrClock     = errors.New("the manifest is dated in the future")
	ErrRollback  = errors.New("the manifest names an older version than the running one")
	ErrSeen      = errors.New("the manifest names an older version than an earlier manifest")
	ErrPlatform  = errors.New("no build for this machine")
	ErrKey       = errors.New("not a minisign public key")
)

// Manifest describes the newest version.
type Manifest struct {
	Program  string    `json:"program"`
	Version  string    `json:"version"` // "v1.2.3"
	Released time.Time `json:"released"`
	Expires  time.Time `json:"expires"` // expiry time of the manifest; without it, an attacker could hide a new version by serving an old manifest
	Notes    string    `json:"notes"`
	Page     string    `json:"page"` // page about the release, for people
	Files    []File    `json:"files"`
}

// File is a downloadable build.
type File struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kind   string `json:"kind"` // archive, deb, rpm or app
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// parseKeys parses public keys in minisign format ("RW…"), separated by commas. During a key
// rotation there are two keys.
func parseKeys(text string) ([]minisign.PublicKey, error) {
	var out []minisign.PublicKey
	for word := range strings.SplitSeq(text, ",") {
		var k minisign.PublicKey
		if err := k.UnmarshalText([]byte(strings.TrimSpace(word))); err != nil {
			return nil, fmt.Errorf("%w: %q", ErrKey, word)
		}
		out = append(out, k)
	}
	return out, nil
}

// CheckKeys returns an error if the keys cannot be used.
func CheckKeys(text string) error {
	_, err := parseKeys(text)
	return err
}

// Open verifies a manifest and only then parses it. now is the time of this machine.
func Open(keys string, manifest, signature []byte, now time.Time) (Manifest, error) {
	list, err := parseKeys(keys)
	if err != nil {
		return Manifest{}, err
	}
	if len(manifest) > maxManifest || len(signature) > maxSignature {
		return Manifest{}, fmt.Errorf("%w: too long", ErrFormat)
	}
	signed := false
	for _, k := range list {
		signed = signed || minisign.Verify(k, manifest, signature)
	}
	if !signed {
		return Manifest{}, ErrSignature
	}
	m, err := parseManifest(manifest)
	if err != nil {
		return Manifest{}, err
	}
	switch {
	case !now.Before(m.Expires):
		return Manifest{}, fmt.Errorf("%w on %s", ErrExpired, m.Expires.Format(time.DateOnly))
	case m.Released.After(now.Add(soon)):
		return Manifest{}, fmt.Errorf("%w: made on %s", ErrClock, m.Released.Format(time.DateOnly))
	}
	return m, nil
}

func parseManifest(b []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if d.More() {
		return m, fmt.Errorf("%w: unexpected data after the manifest", ErrFormat)
	}
	if err := m.checkManifest(); err != nil {
		return m, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	m.Notes = terminalSafe(m.Notes, maxNotes)
	return m, nil
}

func (m *Manifest) checkManifest() error {
	switch {
	case m.Program != program:
		return fmt.Errorf("the program is %q", terminalSafe(m.Program, 50))
	case !semver.IsValid(m.Version) || semver.Canonical(m.Version) != strings.SplitN(m.Version, "+", 2)[0] || len(m.Version) > 50:
		return fmt.Errorf("%q is not a version", terminalSafe(m.Version, 50))
	case m.Released.IsZero() || m.Expires.IsZero() || !m.Expires.After(m.Released):
		return errors.New("the release or expiry time is missing")
	case m.Page != "" && !isHTTPS(m.Page):
		return errors.New("the address of the page does not use https")
	case len(m.Files) > maxFiles:
		return fmt.Errorf("more than %d files", maxFiles)
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if !isHTTPS(f.URL) || err != nil || len(sum) != 32 || f.Size <= 0 {
			return fmt.Errorf("a file for %s/%s lacks an https address, a SHA-256 or a size", terminalSafe(f.OS, 20), terminalSafe(f.Arch, 20))
		}
	}
	return nil
}

func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxText && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && terminalSafe(s, maxText) == s
}

// terminalSafe removes terminal control characters.
func terminalSafe(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) { // control characters, and characters that change the text direction
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}

// gitDescribeSuffix removes the suffix that `git describe` adds to the last tag.
func gitDescribeSuffix(v string) string {
	return regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+)?(-dirty)?$`).ReplaceAllString(v, "")
}

// Older reports whether a is an older version than b; false for invalid versions.
func Older(a, b string) bool { return Comparable(a) && Comparable(b) && compareVersions(a, b) < 0 }

// Comparable reports whether a version can be compared with releases; false for
// builds without a release tag.
func Comparable(version string) bool { return semver.IsValid(gitDescribeSuffix(version)) }

// compareVersions returns a negative number if a is older than b.
func compareVersions(a, b string) int {
	return semver.Compare(gitDescribeSuffix(a), gitDescribeSuffix(b))
}
