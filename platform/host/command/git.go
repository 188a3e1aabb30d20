package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitSettings returns options that must precede all others. They disable programs that the settings
// of a repository or its submodules could name.
func gitSettings() []string {
	return []string{
		"--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat", "-c", "diff.external=", "-c", "core.attributesFile=/dev/null",
		"-c", "diff.autoRefreshIndex=false", "-c", "diff.ignoreSubmodules=all", "-c", "status.submoduleSummary=false", "-c", "submodule.recurse=false",
		"-c", "log.showSignature=false", "-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never", "-c", "core.untrackedCache=false",
	}
}

func gitEnv() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_EDITOR=false", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
	}
}

// checkGit removes the general options, checks the repository's settings, and returns the arguments
// for the table, the arguments to run, and the environment. Settings that name programs (filters,
// textconv, signatures) have arbitrary names and cannot be disabled, so unknown settings need
// approval.
func (l *analysis) checkGit(dir string, args []string) (table, run, env []string, why string) {
	rest := args[1:]
	folder := dir
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch {
		case rest[0] == "--no-pager" || rest[0] == "-P" || rest[0] == "--no-optional-locks":
			rest = rest[1:]
			continue
		case rest[0] == "-C" && len(rest) > 1:
			if why := l.checkReadable(folder, rest[1]); why != "" {
				return nil, nil, nil, why
			}
			folder = l.judge.resolvePlace(folder, rest[1]).abs
			rest = rest[2:]
			continue
		case (rest[0] == "--version" || rest[0] == "--help") && len(rest) == 1:
			return args, args, gitEnv(), ""
		}
		return nil, nil, nil, "git " + rest[0] + " is not known to be read-only"
	}
	if len(rest) == 0 {
		return args, args, gitEnv(), ""
	}
	if rest[0] == "version" {
		return append([]string{"git"}, rest...), args, gitEnv(), ""
	}
	if why := l.findRepository(folder); why != "" {
		return nil, nil, nil, why
	}
	table = append([]string{"git"}, rest...)
	run = append([]string{"git"}, gitSettings()...)
	if folder != dir {
		run = append(run, "-C", folder)
	}
	run = append(run, rest[0])
	if slices.Contains([]string{"diff", "log", "show"}, rest[0]) {
		run = append(run, "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
	}
	if rest[0] == "status" {
		run = append(run, "--ignore-submodules=all") // otherwise git would run in the submodules with their settings
	}
	return table, append(run, rest[1:]...), gitEnv(), ""
}

// findRepository finds the repository of a folder in the same way as git, and checks its settings.
func (l *analysis) findRepository(dir string) string {
	for {
		at := filepath.Join(dir, ".git")
		info, err := os.Lstat(at)
		if err == nil {
			if !info.IsDir() {
				return "the repository stores its data in another folder (" + at + ")"
			}
			return gitConfig(at)
		}
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
			if _, err := os.Lstat(filepath.Join(dir, "objects")); err == nil {
				return dir + " is a bare repository, whose settings may name programs"
			}
		}
		if dir == filepath.Dir(dir) {
			return "" // git reports that there is no repository
		}
		dir = filepath.Dir(dir)
	}
}

// harmlessSettings returns sections and keys of a repository's settings that do not name a program,
// file or other location. The key "*" matches every key.
func harmlessSettings() map[string][]string {
	return map[string][]string{
		"core":       {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev", "compression"},
		"remote":     {"url", "fetch", "pushurl", "tagopt", "gh-resolved"},
		"branch":     {"remote", "merge", "rebase", "description", "pushremote", "vscode-merge-base", "gh-merge-base", "github-pr-owner-number"},
		"user":       {"name", "email"},
		"pull":       {"rebase", "ff"},
		"push":       {"default", "autosetupremote", "followtags"},
		"fetch":      {"prune", "prunetags"},
		"init":       {"defaultbranch"},
		"gc":         {"auto"},
		"color":      {"*"},
		"advice":     {"*"},
		"submodule":  {"url", "active", "branch", "path"},
		"extensions": {"objectformat", "refstorage"},
		"status":     {"short", "branch", "showuntrackedfiles"},
		"rerere":     {"enabled"},
	}
}

const maxSettings = 256 << 10 // in bytes

// gitConfig parses the settings of a repository strictly. It rejects unknown syntax.
func gitConfig(gitDir string) string {
	if _, err := os.Lstat(filepath.Join(gitDir, "config.worktree")); err == nil {
		return "the repository has per-worktree settings"
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "commondir")); err == nil {
		return "the repository stores its data in another folder"
	}
	path := filepath.Join(gitDir, "config")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return "the repository's settings cannot be read"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "the repository's settings cannot be read"
	}
	section, known := "", harmlessSettings()
	for line := range strings.SplitSeq(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			inner, ok := strings.CutSuffix(line[1:], "]")
			name, sub, _ := strings.Cut(inner, " ")
			if !ok || strings.ContainsAny(name, `"\]`) || strings.ContainsAny(strings.Trim(sub, `"`), `"\]`) {
				return "the repository's settings contain " + line
			}
			section = strings.ToLower(name)
			if sub != "" && !slices.Contains([]string{"remote", "branch", "submodule", "color"}, section) {
				return "the repository's settings contain " + line
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if strings.HasSuffix(value, `\`) || !slices.Contains(known[section], key) && !slices.Contains(known[section], "*") {
			return "the repository's settings contain " + section + "." + key + ", which may name a program"
		}
	}
	return ""
}
