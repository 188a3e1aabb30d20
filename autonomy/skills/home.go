package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
)

// Home adds, removes and trusts the skills in HOB_HOME/skills. The commands use it; the daemon only
// reads the files. Its methods wait for other commands that change skills.
type Home struct {
	Paths system.Paths
	Now   func() time.Time // default: time.Now
}

// ChangeTool is the tool name of added skills in the journal. No model can call the tool.
const ChangeTool = "change_skills"

// Names of unfinished changes in the folder of the skills. Library ignores them.
const (
	stagingPrefix  = ".adding-"
	removedPrefix  = ".removed-"
	replacedPrefix = ".replaced-" // then the name, a dot and random digits
	lockFile       = ".lock"
)

// Library returns the library that reads the same files.
func (h Home) Library() *Library { return Open(h.Paths, nil, nil, nil) }

// withLock runs fn while no other command can change skills. It first cleans up after an interrupted
// command: a removal is completed, an unfinished addition is discarded, and a skill that was being
// replaced is restored.
func (h Home) withLock(ctx context.Context, fn func(t trustFile) error) error {
	dir := h.Paths.SkillsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder for skills: %w", err)
	}
	lock, err := system.Acquire(ctx, filepath.Join(dir, lockFile), system.RoleCLI)
	if err != nil {
		return fmt.Errorf("another command is changing skills: %w", err)
	}
	defer func() { _ = lock.Release() }() // the end of the process also releases the lock
	t, err := readTrust(h.Paths.SkillTrustFile())
	if err != nil {
		return err
	}
	if err := h.cleanUp(t); err != nil {
		return fmt.Errorf("clean up after an interrupted command: %w", err)
	}
	return fn(t)
}

// cleanUp removes the leftovers of an interrupted command, and trust records of missing folders.
func (h Home) cleanUp(t trustFile) error {
	dir := h.Paths.SkillsDir()
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if rest, ok := strings.CutPrefix(e.Name(), replacedPrefix); ok {
			target := filepath.Join(dir, rest[:max(0, strings.LastIndexByte(rest, '.'))])
			if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
				if err := os.Rename(filepath.Join(path, "skill"), target); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		} else if !strings.HasPrefix(e.Name(), stagingPrefix) && !strings.HasPrefix(e.Name(), removedPrefix) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	n := len(t.Skills)
	maps.DeleteFunc(t.Skills, func(name string, _ trustRecord) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return errors.Is(err, fs.ErrNotExist)
	})
	if len(t.Skills) == n {
		return nil
	}
	return t.writeFile(h.Paths.SkillTrustFile())
}

// Candidate is a skill that may be added. It is complete in memory, so that what was checked is what
// is written.
type Candidate struct {
	Report

	files tree
	from  string
}

// AddOptions are the options of Add.
type AddOptions struct {
	Replace bool // replace an existing skill with the same name
	Trust   bool // trust the skill even if the scan found something suspicious
}

// Add writes the candidate into HOB_HOME/skills. A skill without suspicious text becomes trusted.
// After a crash at any time the skill is complete or absent; at worst it is not trusted yet.
func (h Home) Add(ctx context.Context, c *Candidate, o AddOptions) (trusted bool, err error) {
	err = h.withLock(ctx, func(t trustFile) error {
		dir := h.Paths.SkillsDir()
		target := filepath.Join(dir, c.Name)
		_, err := os.Lstat(target)
		there := err == nil
		if there && !o.Replace {
			return fmt.Errorf("%w: %s; replace it with --replace, or remove it: hob skill remove %s", ErrExists, c.Name, c.Name)
		}
		if names, err := skillFolders(dir); !there && (err != nil || len(names) >= maxSkills) {
			return errors.Join(err, fmt.Errorf("%w: there are %d skills already; remove one first: hob skill remove NAME", ErrInvalid, len(names)))
		}
		staged, err := os.MkdirTemp(dir, stagingPrefix)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(staged) }()
		if err := c.files.writeTo(staged); err != nil {
			return fmt.Errorf("write the skill: %w", err)
		}
		written, err := readTree(staged, false)
		if err != nil {
			return err
		}
		if written.digestFiles() != c.Digest { // the disk changed the files, for example because it ignores letter case
			return fmt.Errorf("%w: this disk cannot store the files unchanged; rename files that differ only in letter case", ErrInvalid)
		}
		failpoint.Hit("skill.staged")
		if there {
			if err := h.setAside(target, replacedPrefix+c.Name+"."); err != nil {
				return err
			}
			failpoint.Hit("skill.aside")
		}
		if err := os.Rename(staged, target); err != nil {
			return err
		}
		failpoint.Hit("skill.added")
		if trusted = o.Trust || len(c.Findings) == 0; trusted {
			t.Skills[c.Name] = trustRecord{Digest: c.Digest, From: c.from, At: h.currentTime()}
		} else {
			delete(t.Skills, c.Name)
		}
		if err := t.writeFile(h.Paths.SkillTrustFile()); err != nil {
			return fmt.Errorf("the skill was added but is not trusted: %w; trust it: hob skill trust %s", err, c.Name)
		}
		return h.cleanUp(t)
	})
	return trusted, err
}

// setAside renames a folder so that Library no longer sees it. cleanUp deletes it.
func (h Home) setAside(target, prefix string) error {
	aside, err := os.MkdirTemp(h.Paths.SkillsDir(), prefix)
	if err != nil {
		return err
	}
	return os.Rename(target, filepath.Join(aside, "skill"))
}

func (h Home) currentTime() time.Time {
	if h.Now != nil {
		return h.Now().UTC()
	}
	return time.Now().UTC()
}

// writeTo writes the files below dir, for the user alone.
func (t tree) writeTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		f := t[name]
		path := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if f.executable {
			mode = 0o700
		}
		out, err := root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = out.Write(f.data)
		if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes a skill with all its files and its trust.
func (h Home) Remove(ctx context.Context, name string) error {
	return h.withLock(ctx, func(t trustFile) error {
		target, err := h.folderOf(name)
		if err != nil {
			return err
		}
		if err := h.setAside(target, removedPrefix); err != nil {
			return fmt.Errorf("remove the skill: %w", err)
		}
		failpoint.Hit("skill.removed")
		return h.cleanUp(t)
	})
}

// folderOf returns the folder of a skill, valid or not.
func (h Home) folderOf(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`) {
		return "", fmt.Errorf("%w: %q is not the name of a skill; list them with: hob skill list", ErrNotFound, shortValue(name))
	}
	target := filepath.Join(h.Paths.SkillsDir(), name)
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s; list them with: hob skill list", ErrNotFound, shortValue(name))
	} else if err != nil {
		return "", err
	}
	return target, nil
}

// Trust trusts the skill with its present files.
func (h Home) Trust(ctx context.Context, name string) (r Report, err error) {
	err = h.withLock(ctx, func(t trustFile) error {
		dir, err := h.folderOf(name)
		if err != nil {
			return err
		}
		if r, err = ReadFolder(dir); err != nil {
			return err
		}
		old := t.Skills[name]
		t.Skills[name] = trustRecord{Digest: r.Digest, From: old.From, At: h.currentTime()}
		r.State = StateTrusted
		return t.writeFile(h.Paths.SkillTrustFile())
	})
	return r, err
}
