package trash

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 3, 9, 14, 5, 6, 0, time.FixedZone("CET", 3600))

func openFolder(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, dir
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHomeTrash(t *testing.T) {
	root, dir := openFolder(t)
	data := t.TempDir()
	can, err := New(Options{Home: t.TempDir(), DataHome: data})
	if err != nil {
		t.Fatal(err)
	}
	name := "50% off: größe.txt"
	var items []Item
	for _, text := range []string{"one", "two"} {
		putFile(t, filepath.Join(dir, name), text)
		it, err := can.Put(root, name, at)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	want := Item{
		Original: filepath.Join(dir, name),
		Location: filepath.Join(data, "Trash", "files", "50% off: größe.2.txt"),
		Info:     filepath.Join(data, "Trash", "info", "50% off: größe.2.txt.trashinfo"),
	}
	if d := cmp.Diff(want, items[1]); d != "" {
		t.Error(d)
	}
	info, err := os.ReadFile(items[1].Info)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("[Trash Info]\nPath="+dir+"/50%25%20off:%20gr%C3%B6%C3%9Fe.txt\nDeletionDate=2026-03-09T14:05:06\n", string(info)); d != "" {
		t.Error(d)
	}
	if err := can.Restore(items[0], root, name); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != "one" {
		t.Errorf("restored %q", b)
	}
	if _, err := os.Lstat(items[0].Info); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("description of the restored item: %v", err)
	}
	if err := can.Restore(items[1], root, name); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto an existing file: %v", err)
	}
	if err := can.Restore(items[0], root, "other"); !errors.Is(err, ErrGone) {
		t.Errorf("second Restore = %v", err)
	}
	for _, bad := range []string{"", ".", "..", "a/b"} {
		if _, err := can.Put(root, bad, at); err == nil {
			t.Errorf("Put(%q) succeeded", bad)
		}
	}
	if _, err := can.Put(root, "missing", at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Put(missing) = %v", err)
	}
}

func TestFolderToTrash(t *testing.T) {
	root, dir := openFolder(t)
	can, err := New(Options{Home: t.TempDir(), DataHome: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "d", "f"), "x")
	it, err := can.Put(root, "d", at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(it.Location, "f")); err != nil {
		t.Fatal(err)
	}
}

func TestVolumeTrash(t *testing.T) {
	root, dir := openFolder(t)
	uid := strconv.Itoa(os.Getuid())
	if d := cmp.Diff([]trashBin{{path: filepath.Join(dir, ".Trash-"+uid), top: dir}}, volumeBins(dir, os.Getuid()), cmp.AllowUnexported(trashBin{})); d != "" {
		t.Error(d)
	}
	shared := filepath.Join(dir, ".Trash")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := volumeBins(dir, os.Getuid()); len(got) != 1 {
		t.Errorf("a shared trash without the sticky bit is used: %v", got)
	}
	if err := os.Chmod(shared, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	bins := volumeBins(dir, os.Getuid())
	if len(bins) != 2 || bins[0].path != filepath.Join(shared, uid) {
		t.Fatalf("bins = %v", bins)
	}
	putFile(t, filepath.Join(dir, "f"), "x")
	if err := bins[0].createFolders(); err != nil {
		t.Fatal(err)
	}
	it, err := bins[0].putFile(root, "f", filepath.Join(dir, "f"), at)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile(it.Info)
	if d := cmp.Diff("[Trash Info]\nPath=f\nDeletionDate=2026-03-09T14:05:06\n", string(info)); d != "" || err != nil {
		t.Error(err, d)
	}
	link := trashBin{path: filepath.Join(dir, "link"), top: dir}
	if err := os.Symlink(shared, link.path); err != nil {
		t.Fatal(err)
	}
	if link.createFolders() == nil {
		t.Error("a trash that is a link was accepted")
	}
	if got := mountPoint(dir, deviceID(dir)); deviceID(got) != deviceID(dir) || (got != "/" && deviceID(filepath.Dir(got)) == deviceID(dir)) {
		t.Errorf("topdir(%s) = %s", dir, got)
	}
}
