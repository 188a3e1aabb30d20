package release

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"hob/platform/net/safehttp"
)

// Fetcher sends HTTP requests; *safehttp.Client implements it.
type Fetcher interface {
	Fetch(ctx context.Context, r safehttp.Request) (*safehttp.Response, error)
}

// Options are the options of Check. All fields except Kind and Seen are required.
type Options struct {
	Network Fetcher
	URL     string // URL of the manifest; the URL of the signature has the suffix ".minisig"
	Keys    string
	Version string // version of the running program
	Seen    string // newest version that this address has named so far, which reveals a replayed old manifest with a valid signature
	OS      string
	Arch    string
	Kind    Kind // how the program was installed
	Now     time.Time
}

// Result is the result of an update check.
type Result struct {
	Current string `json:"current"`
	Latest  string `json:"latest"`
	// Newer is true if a newer version exists. Known is false if the program was not built from a
	// release, because its version cannot be compared.
	Newer    bool      `json:"newer"`
	Known    bool      `json:"known"`
	Released time.Time `json:"released"`
	Notes    string    `json:"notes,omitempty"`
	Page     string    `json:"page,omitempty"`
	Kind     Kind      `json:"installed_by"`
	Steps    []string  `json:"steps,omitempty"` // how to install the newer version
	File     *File     `json:"file,omitempty"`
}

// Check fetches and verifies the manifest, and compares its version with the running one.
func Check(ctx context.Context, o Options) (Result, error) {
	if !isHTTPS(o.URL) {
		return Result{}, fmt.Errorf("%q is not an https address", o.URL)
	}
	signature, err := fetchFile(ctx, o.Network, o.URL+".minisig", maxSignature)
	if err != nil {
		return Result{}, err
	}
	manifest, err := fetchFile(ctx, o.Network, o.URL, maxManifest)
	if err != nil {
		return Result{}, err
	}
	m, err := Open(o.Keys, manifest, signature, o.Now)
	if err != nil {
		return Result{}, fmt.Errorf("manifest %s rejected: %w", o.URL, err)
	}
	r, err := o.compareManifest(m)
	if err != nil {
		return Result{}, fmt.Errorf("manifest %s rejected: %w", o.URL, err)
	}
	return r, nil
}

func fetchFile(ctx context.Context, n Fetcher, url string, most int64) ([]byte, error) {
	res, err := n.Fetch(ctx, safehttp.Request{URL: url, MaxBody: most})
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	if res.URL != nil && res.URL.Scheme != "https" {
		return nil, fmt.Errorf("fetch %s: redirected to an unencrypted address", url)
	}
	if res.Status != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: the server returned %d %s", url, res.Status, http.StatusText(res.Status))
	}
	return res.Body, nil
}

func (o *Options) compareManifest(m Manifest) (Result, error) {
	r := Result{Current: o.Version, Latest: m.Version, Known: Comparable(o.Version), Released: m.Released, Notes: m.Notes, Page: m.Page, Kind: o.Kind}
	if r.Known {
		c := compareVersions(o.Version, m.Version)
		if c > 0 {
			return Result{}, fmt.Errorf("%w (%s, not %s)", ErrRollback, m.Version, o.Version)
		}
		r.Newer = c < 0
	}
	if Older(m.Version, o.Seen) {
		return Result{}, fmt.Errorf("%w (%s, not %s)", ErrSeen, m.Version, o.Seen)
	}
	r.File = m.fileFor(o.OS, o.Arch, o.Kind)
	if r.File == nil {
		return Result{}, fmt.Errorf("%w (%s/%s)", ErrPlatform, o.OS, o.Arch)
	}
	if r.Newer || !r.Known {
		r.Steps = updateSteps(o.Kind, o.OS, *r.File)
	}
	return r, nil
}

// fileFor returns the file for the kind of the installed package, or the archive if there is none.
func (m *Manifest) fileFor(system, arch string, kind Kind) *File {
	var found *File
	for i, f := range m.Files {
		if f.OS != system || f.Arch != arch {
			continue
		}
		if f.Kind == string(kind) {
			return &m.Files[i]
		}
		if found == nil || f.Kind == string(Archive) {
			found = &m.Files[i]
		}
	}
	return found
}

// Refused reports whether err means that an answer was received but rejected. It returns false if
// no answer was received.
func Refused(err error) bool {
	for _, e := range []error{ErrSignature, ErrFormat, ErrExpired, ErrClock, ErrRollback, ErrSeen, ErrPlatform} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
