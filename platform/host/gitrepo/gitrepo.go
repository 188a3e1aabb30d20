// Package gitrepo reads the state of a git repository: its branch, uncommitted changes and latest
// commits. It runs only git commands that package command lists as read-only, with settings that
// keep git from running programs that the repository names. All texts are untrusted.
package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/platform/host/command"
)

// Limits of one reading.
const (
	maxCommits  = 500
	commandTime = 10 * time.Second
)

// Errors that a caller can handle.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNotRead      = errors.New("git repository not read")
)

// Commit is one commit of the current branch.
type Commit struct {
	ID      string    `json:"id"` // abbreviated
	At      time.Time `json:"at"`
	Author  string    `json:"author"`
	Subject string    `json:"subject"`
}

// Status is the state of a repository.
type Status struct {
	Branch   string `json:"branch"`             // "" if no branch is checked out
	Upstream string `json:"upstream,omitempty"` // branch that Ahead and Behind refer to
	Ahead    int    `json:"ahead"`
	Behind   int    `json:"behind"`
	Changed  int    `json:"changed_files"` // tracked files with uncommitted changes
	New      int    `json:"untracked_files"`
	// Commits are the commits since the requested time, newest first, at most 500.
	Commits []Commit `json:"commits"`
	// Last is the latest commit of the branch; nil if there is none.
	Last *Commit `json:"last,omitempty"`
}

// Reader reads repositories. It may be used concurrently.
type Reader struct {
	Judge  *command.Analyzer
	Runner *command.Runner
}

// Status reads the repository in dir, with its commits since a time. dir is an absolute path that
// the caller may read.
func (r Reader) Status(ctx context.Context, dir string, since time.Time) (Status, error) {
	s := Status{Commits: []Commit{}}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return s, ErrNoRepository
	}
	out, err := r.runGit(ctx, dir, "git status --porcelain=v2 --branch")
	if err != nil {
		return s, err
	}
	s.parseStatus(out)
	if out, err = r.runGit(ctx, dir, "git log -1 "+logFormat); err != nil {
		return s, err
	}
	if last := parseLog(out); len(last) > 0 {
		s.Last = &last[0]
		if out, err = r.runGit(ctx, dir, fmt.Sprintf("git log -%d --since=%s %s", maxCommits, since.UTC().Format("2006-01-02T15:04:05Z"), logFormat)); err != nil {
			return s, err
		}
		s.Commits = append(s.Commits, parseLog(out)...)
	}
	return s, nil
}

// logFormat prints two lines for each commit: "ID TIME SUBJECT", and "> AUTHOR".
const logFormat = "--no-color --format='%h %at %s%n> %an'"

// runGit runs a command that must be listed as read-only. Without commits, git log fails; runGit
// then returns "".
func (r Reader) runGit(ctx context.Context, dir, text string) (string, error) {
	v := r.Judge.Judge(command.Command{Text: text, Dir: dir}).Within(r.Runner.Sandbox(ctx))
	if v.Refused != nil {
		return "", fmt.Errorf("%w: %w", ErrNotRead, v.Refused)
	}
	if !v.Listed {
		return "", fmt.Errorf("%w: %s", ErrNotRead, strings.Join(v.Why, "; "))
	}
	out, err := r.Runner.Run(ctx, v.Plan, commandTime, func(int64) {})
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrNotRead, err)
	case out.Status != 0 && strings.HasPrefix(text, "git log"):
		return "", nil
	case out.Status != 0:
		return "", fmt.Errorf("%w: git exited with status %d: %s", ErrNotRead, out.Status, strings.TrimSpace(out.Output))
	}
	return out.Output, nil
}

// parseStatus parses the output of `git status --porcelain=v2 --branch`
// (https://git-scm.com/docs/git-status#_porcelain_format_version_2).
func (s *Status) parseStatus(out string) {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		key, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		switch {
		case strings.HasPrefix(line, "# branch.head"):
			if rest != "(detached)" {
				s.Branch = rest
			}
		case key == "branch.upstream":
			s.Upstream = rest
		case key == "branch.ab":
			_, _ = fmt.Sscanf(rest, "+%d -%d", &s.Ahead, &s.Behind)
		case strings.HasPrefix(line, "1 "), strings.HasPrefix(line, "2 "), strings.HasPrefix(line, "u "):
			s.Changed++
		case strings.HasPrefix(line, "? "):
			s.New++
		}
	}
}

func parseLog(out string) (list []Commit) {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if author, ok := strings.CutPrefix(line, "> "); ok {
			if n := len(list); n > 0 && list[n-1].Author == "" {
				list[n-1].Author = author
			}
			continue
		}
		id, rest, _ := strings.Cut(line, " ")
		at, subject, _ := strings.Cut(rest, " ")
		if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
			list = append(list, Commit{ID: id, At: time.Unix(seconds, 0), Subject: subject})
		}
	}
	return list
}
