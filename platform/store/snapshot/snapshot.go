// Package snapshot creates, lists, verifies and deletes snapshots of a Hob home: one folder with a
// consistent copy of the database, the configuration files and a manifest with their digests.
//
// A snapshot contains no secret: neither the token, the stored secrets nor the key of the audit log.
// The memory index is not copied, because it follows the database and rebuilds itself. The package
// changes nothing in the home; packages upgrade and restore do.
package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/text/sorting"
)

// The reasons for a snapshot. Prune applies its limit to each reason separately.
const (
	Manual  = "manual"  // requested by the user
	Upgrade = "upgrade" // made before a migration
	Restore = "restore" // made before a restore
)

const (
	manifestFile = "manifest.json"
	filesFolder  = "files"
	format       = 1
	stampLayout  = "20060102T150405.000"
)

// ErrDamaged means that a snapshot differs from its manifest or that its database is damaged.
var ErrDamaged = errors.New("the snapshot is damaged")

// Manifest describes a snapshot.
type Manifest struct {
	Format  int              `json:"format"`
	Reason  string           `json:"reason"`
	Created time.Time        `json:"created"`
	Version string           `json:"version"` // version of Hob that created the snapshot
	Schema  map[string]int   `json:"schema"`  // schema version of each package that owns tables
	Rows    map[string]int64 `json:"rows"`    // number of rows of each table
	Index   map[string]int64 `json:"index"`   // number of the last change that each derived index has processed
	Files   []File           `json:"files"`   // the database first
}

// File is a file of a snapshot.
type File struct {
	Name       string `json:"name"` // slash-separated path relative to the home; "hob.db" for the database
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// Snapshot is a snapshot on disk, or a dated backup of the database alone.
type Snapshot struct {
	Name string
	Path string // the folder, or the file of a dated backup
	// Dated is true for a backup of the database alone, which has no manifest: only Created is set.
	Dated    bool
	Manifest Manifest
}

// Options are the parameters of Create.
type Options struct {
	Paths   system.Paths
	Version string // version of this program
	Reason  string
}

// Create makes a verified snapshot of the home. Other processes may use the database at the same time. A
// process that is killed leaves only a folder ending in ".part", which Prune deletes.
func Create(ctx context.Context, o Options) (_ Snapshot, err error) {
	dir := o.Paths.Backups()
	m := Manifest{Format: format, Reason: o.Reason, Created: time.Now().UTC().Truncate(time.Millisecond), Version: o.Version}
	name, err := unusedName(dir, m.Created, o.Reason)
	if err != nil {
		return Snapshot{}, err
	}
	part := filepath.Join(dir, name+store.PartialSuffix)
	if err := os.MkdirAll(part, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("create snapshot: %w; check the permissions and free space of %s", err, dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("create snapshot: %w", err), system.RemoveAll(part))
		}
	}()
	failpoint.Hit("snapshot.begun")
	s := Snapshot{Name: name, Path: part}
	if err := store.CopyDatabase(ctx, o.Paths.Database(), s.Database()); err != nil {
		return Snapshot{}, err
	}
	failpoint.Hit("snapshot.database")
	if err := copyFiles(o.Paths, filepath.Join(part, filesFolder)); err != nil {
		return Snapshot{}, err
	}
	if m.Files, err = listFiles(part); err != nil {
		return Snapshot{}, err
	}
	c, err := store.Inspect(ctx, s.Database())
	if err != nil {
		return Snapshot{}, err
	}
	m.Schema, m.Rows, m.Index = c.Schema, c.Rows, c.Derived
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return Snapshot{}, err
	}
	if err := system.WriteFile(filepath.Join(part, manifestFile), append(text, '\n')); err != nil {
		return Snapshot{}, err
	}
	s.Manifest = m
	if err := s.Verify(ctx); err != nil { // verify what was written by reading it again
		return Snapshot{}, err
	}
	failpoint.Hit("snapshot.verified")
	s.Path = filepath.Join(dir, name)
	if err := system.RenameDurable(part, s.Path); err != nil {
		return Snapshot{}, err
	}
	failpoint.Hit("snapshot.done")
	return s, nil
}

func copyFiles(p system.Paths, dir string) error {
	for _, f := range homeFiles(p) {
		if err := copyTree(f, filepath.Join(dir, filepath.Base(f))); err != nil {
			return err
		}
	}
	return nil
}

// filesOnly is the reason in the name of a folder that SaveFiles makes.
const filesOnly = "files"

// SaveFiles copies the files of the home to a new folder in the backup folder. It is used if the
// database cannot be included in a snapshot. It returns the folder, or "" if there are no files.
// The folder is not a snapshot; Prune and an erasure delete it like one.
func SaveFiles(p system.Paths) (dir string, err error) {
	name, err := unusedName(p.Backups(), time.Now().UTC(), filesOnly)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(p.Backups(), name)
	part := dir + store.PartialSuffix
	err = copyFiles(p, part)
	if _, serr := os.Stat(part); err == nil && errors.Is(serr, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil {
		err = system.RenameDurable(part, dir)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("save the files of the home: %w", err), system.RemoveAll(part))
	}
	return dir, nil
}

// unusedName returns an unused folder name that sorts by time.
func unusedName(dir string, at time.Time, reason string) (string, error) {
	if strings.ContainsAny(reason, `/\.`) {
		return "", fmt.Errorf("create snapshot: invalid reason %q", reason)
	}
	base := store.SnapshotPrefix + at.Format(stampLayout) + "-" + reason
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := os.Lstat(filepath.Join(dir, name))
		_, perr := os.Lstat(filepath.Join(dir, name+store.PartialSuffix))
		if errors.Is(err, fs.ErrNotExist) && errors.Is(perr, fs.ErrNotExist) {
			return name, nil
		}
	}
}

// homeFolders is the index of the first folder in homeFiles.
const homeFolders = 6

// homeFiles returns the files of the home that a snapshot contains, followed by the folders. It
// includes missing files and folders.
func homeFiles(p system.Paths) []string {
	return []string{
		p.ConfigFile(), p.SoulFile(), p.UserFile(), p.MemoryFile(), p.AgentsFile(), p.SkillTrustFile(), p.PolicyDir(), p.AgentDir(""), p.TemplatesDir(),
		p.SkillsDir(),
	}
}

// workspace is the folder of an agent that works in a container. Its files may be of any size.
const workspace = "workspace"

// copyTree copies a file, or the regular files of a folder. It follows a link to the file or folder,
// because people keep config.toml and skills in another folder, but no links inside folders.
func copyTree(from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fi, err := os.Stat(from)
	if err != nil {
		return err
	}
	if fi.Mode().IsRegular() {
		return copyFile(from, to)
	}
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(from, name)
		switch {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case e.IsDir() && e.Name() == workspace:
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		return copyFile(name, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := system.WriteFrom(to, f); err != nil {
		return err
	}
	if fi, err := f.Stat(); err != nil || fi.Mode()&0o100 == 0 {
		return err
	}
	return os.Chmod(to, 0o700) //nolint:gosec // a script stays executable for the user
}

// listFiles returns the files of a snapshot folder, except the manifest.
func listFiles(dir string) (out []File, err error) {
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(dir, name)
		if err != nil || rerr != nil || e.IsDir() || rel == manifestFile {
			return errors.Join(err, rerr)
		}
		if !e.Type().IsRegular() { // a link could lead to any file
			return fmt.Errorf("%w: %s is not a regular file; use another snapshot", ErrDamaged, filepath.ToSlash(rel))
		}
		f, err := digestFile(name)
		f.Name = strings.TrimPrefix(filepath.ToSlash(rel), filesFolder+"/")
		out = append(out, f)
		return err
	})
	sorting.StableByFunc(out, func(a, b File) int { // the database first
		return boolOrder(a.Name != store.SnapshotDatabase, b.Name != store.SnapshotDatabase)
	})
	return out, err
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func digestFile(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	fi, serr := f.Stat()
	if err := errors.Join(err, serr); err != nil {
		return File{}, err
	}
	return File{SHA256: hex.EncodeToString(h.Sum(nil)), Size: n, Executable: runtime.GOOS != "windows" && fi.Mode()&0o100 != 0}, nil
}

// List returns the snapshots and dated backups of a folder, newest first. Folders without a readable
// manifest are omitted.
func List(dir string) ([]Snapshot, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var out []Snapshot
	for _, e := range entries {
		if s, err := openSnapshot(dir, e.Name()); err == nil {
			out = append(out, s)
		}
	}
	sorting.StableByFunc(out, func(a, b Snapshot) int { return b.Manifest.Created.Compare(a.Manifest.Created) })
	return out, nil
}

// Find returns a snapshot by its name or path, or the newest one for "". The error wraps
// fs.ErrNotExist if there is none.
func Find(dir, name string) (Snapshot, error) {
	if name == "" {
		list, err := List(dir)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no snapshot in %s: %w; create one with: hob backup", dir, fs.ErrNotExist)
		}
		if err != nil {
			return Snapshot{}, err
		}
		return list[0], nil
	}
	if filepath.Base(name) != name {
		dir, name = filepath.Dir(name), filepath.Base(name)
	}
	s, err := openSnapshot(dir, name)
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot %q: %w; choose one from the folder %s", name, err, dir)
	}
	return s, nil
}

func openSnapshot(dir, name string) (Snapshot, error) {
	s := Snapshot{Name: name, Path: filepath.Join(dir, name)}
	switch {
	case strings.HasPrefix(name, "hob-") && strings.HasSuffix(name, ".db"):
		fi, err := os.Stat(s.Path)
		if err != nil {
			return s, err
		}
		s.Dated, s.Manifest.Created = true, fi.ModTime().UTC()
		if at, err := time.Parse(stampLayout, name[len("hob-"):min(len(name), len("hob-")+len(stampLayout))]); err == nil {
			s.Manifest.Created = at
		}
		return s, nil
	case !strings.HasPrefix(name, store.SnapshotPrefix) || strings.HasSuffix(name, store.PartialSuffix):
		return s, fmt.Errorf("not a snapshot: %w", fs.ErrNotExist)
	}
	b, err := os.ReadFile(filepath.Join(s.Path, manifestFile))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s.Manifest); err != nil {
		return s, fmt.Errorf("%w: read the manifest: %w", ErrDamaged, err)
	}
	if s.Manifest.Format != format {
		return s, fmt.Errorf("the manifest has format %d, but this version of Hob supports only %d; update Hob", s.Manifest.Format, format)
	}
	return s, nil
}

// Database returns the path of the database.
func (s Snapshot) Database() string {
	if s.Dated {
		return s.Path
	}
	return filepath.Join(s.Path, store.SnapshotDatabase)
}

// File returns the path of a file of the manifest.
func (s Snapshot) File(name string) string {
	if name == store.SnapshotDatabase {
		return s.Database()
	}
	return filepath.Join(s.Path, filesFolder, filepath.FromSlash(name))
}

// Schema returns the schema versions of the database.
func (s Snapshot) Schema(ctx context.Context) (map[string]int, error) {
	if s.Dated {
		return store.SchemaOf(ctx, s.Path)
	}
	return s.Manifest.Schema, nil
}

// Verify compares the files with the manifest and checks the database. The error wraps ErrDamaged if
// they differ.
func (s Snapshot) Verify(ctx context.Context) error {
	damaged := func(err error) error {
		return fmt.Errorf("verify %s: %w: %w; use another snapshot", s.Name, ErrDamaged, err)
	}
	if !s.Dated {
		have, err := listFiles(s.Path)
		if err != nil {
			return fmt.Errorf("verify %s: %w", s.Name, err)
		}
		if err := compareFiles(s.Manifest.Files, have); err != nil {
			return damaged(err)
		}
	}
	c, err := store.Inspect(ctx, s.Database())
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cause, _, _ := strings.Cut(err.Error(), "; ") // the remedy is for the database of the home
		return damaged(errors.New(cause))
	}
	if !s.Dated && (!maps.Equal(c.Schema, s.Manifest.Schema) || !maps.Equal(c.Rows, s.Manifest.Rows)) {
		return damaged(errors.New("the database does not match the manifest"))
	}
	return nil
}

func compareFiles(want, have []File) error {
	byName := map[string]File{}
	for _, f := range have {
		byName[f.Name] = f
	}
	for _, f := range want {
		if f.Name != store.SnapshotDatabase && !isHomeFile(f.Name) {
			return fmt.Errorf("%q is not a file that a snapshot contains", f.Name)
		}
		got, ok := byName[f.Name]
		switch {
		case !ok:
			return fmt.Errorf("%s is missing", f.Name)
		case got != f:
			return fmt.Errorf("%s was changed", f.Name)
		}
		delete(byName, f.Name)
	}
	for name := range byName {
		return fmt.Errorf("%s is not in the manifest", name)
	}
	return nil
}

// isHomeFile reports whether Create copies a file with this name. A manifest must not lead to another
// file, such as the token or the audit key.
func isHomeFile(name string) bool {
	if path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	top, _, inFolder := strings.Cut(name, "/")
	n := slices.IndexFunc(homeFiles(system.Paths{}), func(f string) bool { return filepath.Base(f) == top })
	return n >= homeFolders || n >= 0 && !inFolder
}
