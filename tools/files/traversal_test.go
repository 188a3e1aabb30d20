package files

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testData opens a file of the evaluation data, which is not part of the repository: the folder
// HOB_TEST_DATA, or shared/data next to the repository.
func testData(t testing.TB, name string) *os.File {
	t.Helper()
	dir := os.Getenv("HOB_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skip("HOB_TEST_DATA is not set:", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestTraversalPayloads reads and writes through known attack strings, then checks that
// nothing outside the allowed folder was shown or changed.
func TestTraversalPayloads(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("Documents/deep/er/x", "x")
	targets := []string{"outside/secret.txt", "etc/passwd", strings.TrimPrefix(b.filePath("outside/secret.txt"), "/")}
	starts := []string{"", "deep/er/", b.docs + "/", "~/Documents/"}
	n := 0
	for sc := bufio.NewScanner(testData(t, "payloads/path-traversal.txt")); sc.Scan(); n++ {
		b.attackPath(t, starts[n%len(starts)]+strings.ReplaceAll(sc.Text(), "{FILE}", targets[n%len(targets)]), n%7 == 0)
	}
	t.Logf("%d payloads", n)
	if n == 0 {
		t.Fatal("the payload file is empty")
	}
	var outside []string
	_ = filepath.WalkDir(b.home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, b.docs) && !strings.HasPrefix(path, b.filePath("hob")) {
			outside = append(outside, path)
		}
		return nil
	})
	if len(outside) != 1 || b.readFile("outside/secret.txt") != "canary" {
		t.Errorf("files outside the allowed folder: %v", outside)
	}
}

func (b *bench) attackPath(t *testing.T, path string, write bool) {
	t.Helper()
	if r, err := b.callTool("read_file", map[string]any{"path": path}); err == nil && (strings.Contains(r.Text, "canary") || strings.Contains(r.Text, "root:")) {
		t.Errorf("read_file %q shows %q", path, r.Text)
	}
	if !write {
		return
	}
	if _, err := b.callTool("write_file", map[string]any{"path": path, "content": "overwritten"}); err == nil {
		if p, err := b.f.Inspect(path); err != nil || !strings.HasPrefix(p.Path, b.docs+string(filepath.Separator)) {
			t.Errorf("write_file %q wrote %q (%v)", path, p.Path, err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"../x", "a/../../x", "~/../x", "link/x", "in/x", `..\x`, "C:\\x", "\x00", "/", "//", "~", "a//b/./c", "deep/../link/../x", "...", ". .", "in/../../x", "key/x", ".ssh/x", ".SSH/x", "in/.git/config", "hob/token", "deep/.\u017fsh/x", "keys/./x", "link/../key/../.ssh", "~/docs/.aws/credentials", "/proc/self/root/etc/shadow", "deep/id_rsa", "a/.git/hooks/x"} {
		f.Add(s)
	}
	home := f.TempDir()
	docs := filepath.Join(home, "docs")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(docs, "deep"), 0o755), os.Mkdir(filepath.Join(home, "out"), 0o755),
		os.Symlink("../out", filepath.Join(docs, "link")), os.Symlink("deep", filepath.Join(docs, "in")),
		os.Mkdir(filepath.Join(docs, ".ssh"), 0o700), os.Symlink(".ssh", filepath.Join(docs, "key")), os.Symlink("deep/../.ssh", filepath.Join(docs, "keys")),
		os.Mkdir(filepath.Join(docs, "hob"), 0o700), os.WriteFile(filepath.Join(docs, ".ssh", "x"), []byte("canary"), 0o600),
	} {
		if err != nil {
			f.Skip(err)
		}
	}
	real, err := filepath.EvalSymlinks(docs)
	if err != nil {
		f.Fatal(err)
	}
	files, err := New(Options{Home: home, Allowed: []string{docs}, Protected: []string{filepath.Join(docs, "hob")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		s, err := files.openSpot(path)
		if err != nil {
			return
		}
		defer s.Close()
		if s.abs != real && !strings.HasPrefix(s.abs, real+string(filepath.Separator)) {
			t.Fatalf("at(%q) = %q, outside of the allowed folder", path, s.abs)
		}
		if got, err := filepath.EvalSymlinks(s.abs); err == nil && got != s.abs {
			t.Fatalf("at(%q) = %q, which resolves to %q", path, s.abs, got)
		}
		if strings.HasPrefix(s.abs+"/", real+"/.ssh/") || strings.HasPrefix(s.abs+"/", real+"/hob/") {
			t.Fatalf("at(%q) = %q, a protected path", path, s.abs)
		}
		if raw, err := s.readContent(100); err == nil && strings.Contains(string(raw), "canary") {
			t.Fatalf("%q reads %q", path, raw)
		}
	})
}
