package guard

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"

	"hob/tools"
)

// A pattern describes what a grant covers beyond one set of arguments. Most patterns come from the
// tool's assessment of a call (tools.CallAssessment.Pattern) and cover the calls with the same
// assessment. Tools without an assessment use these patterns:
//
//	to:ADDRESS    sends to this recipient only
//	host:NAME     fetches from this host; host:*.NAME from its subdomains
//	below:/PATH   changes to files below this folder
const (
	toPattern    = "to:"
	hostPattern  = "host:"
	belowPattern = "below:"
)

// patternOf returns the pattern for a grant for similar calls, or "" if only identical arguments
// can be granted.
func patternOf(r Request) string {
	e := r.callEffects()
	switch {
	case r.Tool.Spec().Foreign || e&^(tools.Read|tools.Write|tools.Send|tools.Egress|tools.Exec) != 0:
		return ""
	case r.judged.Pattern != "":
		return r.judged.Pattern
	case e&tools.Exec != 0:
		return ""
	case e&tools.Send != 0:
		if len(r.judged.To) != 1 || e&tools.Egress != 0 {
			return ""
		}
		return toPattern + r.judged.To[0]
	case e&tools.Egress != 0:
		if host := soleHost(r.judged); host != "" {
			return hostPattern + host
		}
		return ""
	}
	if folder := soleFolder(r); folder != "" && checkPattern(belowPattern+folder) == nil {
		return belowPattern + folder
	}
	return ""
}

// isPatternMatch reports whether a grant's pattern covers the call.
func isPatternMatch(pattern string, r Request) bool {
	own := patternOf(r)
	if own == "" {
		return false
	}
	if own == pattern {
		return true
	}
	if below, ok := strings.CutPrefix(pattern, hostPattern+"*."); ok {
		host, is := strings.CutPrefix(own, hostPattern)
		return is && strings.HasSuffix(host, "."+below)
	}
	folder, ok := strings.CutPrefix(pattern, belowPattern)
	if !ok || !strings.HasPrefix(own, belowPattern) {
		return false
	}
	folder = resolveLinks(folder)
	for _, p := range pathsOf(r) {
		if rel, err := filepath.Rel(folder, resolveLinks(p)); err != nil || !filepath.IsLocal(rel) || rel == "." {
			return false
		}
	}
	return true
}

// checkPattern rejects a pattern that is invalid or would match everything.
func checkPattern(p string) error {
	if p != strings.TrimSpace(p) || len(p) > 500 || strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Trim(p, "*?.:/\\ ") == "" {
		return fmt.Errorf("%w: the pattern %q is invalid or matches everything", ErrGrant, p)
	}
	if host, ok := strings.CutPrefix(p, hostPattern); ok {
		name, _ := strings.CutPrefix(host, "*.")
		if strings.Contains(name, "*") || name != host && strings.Count(name, ".") < 1 || name == "" {
			return fmt.Errorf("%w: write host:example.org, or host:*.example.org for the hosts below it", ErrGrant)
		}
	}
	if to, ok := strings.CutPrefix(p, toPattern); ok && (to == "" || strings.ContainsAny(to, "*, ")) {
		return fmt.Errorf("%w: use \"to:ADDRESS\" with a single address", ErrGrant)
	}
	if folder, ok := strings.CutPrefix(p, belowPattern); ok {
		clean := filepath.Clean(folder)
		rest := strings.Trim(strings.TrimPrefix(clean, filepath.VolumeName(clean)), `/\`)
		if !filepath.IsAbs(clean) || clean != folder || strings.Contains(folder, "*") || !strings.ContainsAny(rest, `/\`) {
			return fmt.Errorf("%w: write below:/PATH with the full path of a folder; a whole disk or the folder of all users is not allowed", ErrGrant)
		}
	}
	return nil
}

func soleHost(j tools.CallAssessment) string {
	host := ""
	for _, raw := range j.URLs {
		u, err := url.Parse(raw)
		if err != nil || u.Hostname() == "" || !j.Get || host != "" && u.Hostname() != host {
			return ""
		}
		host = strings.ToLower(u.Hostname())
	}
	return host
}

// soleFolder returns the folder that contains all files of a call, or "" if there is none or the
// files are unknown.
func soleFolder(r Request) string {
	folder := ""
	for _, p := range pathsOf(r) {
		if !filepath.IsAbs(p) {
			return ""
		}
		dir := filepath.Dir(filepath.Clean(p))
		if folder != "" && dir != folder {
			return ""
		}
		folder = dir
	}
	return folder
}

func pathsOf(r Request) []string {
	if p, ok := r.Tool.(tools.Pather); ok {
		return p.Paths(r.Args)
	}
	return nil
}

// resolveLinks resolves the links in the existing part of a path.
func resolveLinks(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolveLinks(parent), filepath.Base(path))
}
