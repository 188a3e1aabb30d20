package markdown

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hob/platform/host/rename"
	"hob/platform/pim"
	"hob/platform/text/shortid"
)

// createUndo is the undo data of a new note.
type createUndo struct {
	Path string `json:"path"`
	Sum  string `json:"sum"`
}

func sumOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// CreateNote implements pim.Notes. The folder of the note must exist.
func (n *Notes) CreateNote(ctx context.Context, x pim.Note) (pim.Receipt, error) {
	if ctx.Err() != nil {
		return pim.Receipt{}, ctx.Err()
	}
	name, err := fileName(x.Title)
	if err != nil {
		return pim.Receipt{}, err
	}
	dir, err := folderPath(x.Folder)
	if err != nil {
		return pim.Receipt{}, err
	}
	data := []byte(strings.TrimRight(pim.SanitizeText(x.Text), "\n ") + "\n")
	if len(data) > maxFile {
		return pim.Receipt{}, fmt.Errorf("%w: a note must not exceed %d MB", pim.ErrInvalid, maxFile>>20)
	}
	r, err := n.openRoot()
	if err != nil {
		return pim.Receipt{}, err
	}
	defer func() { _ = r.Close() }()
	sub, err := r.OpenRoot(dir) // a separate handle, so that the folder cannot be replaced by a link
	if err != nil {
		return pim.Receipt{}, fmt.Errorf("%w: %q in the notes folder", pim.ErrNoFolder, pim.SanitizeLine(x.Folder, 100))
	}
	defer func() { _ = sub.Close() }()
	at, err := createUnique(sub, name, data)
	if err != nil {
		return pim.Receipt{}, fmt.Errorf("notes folder: %w", unwrapPathError(err))
	}
	at = path.Join(dir, at)
	undo, err := json.Marshal(createUndo{at, sumOf(data)})
	if err != nil { // a programming error: plain data always encodes
		panic(err)
	}
	return pim.Receipt{Outcome: pim.Sent, ID: at, Undo: undo}, nil
}

// folderPath returns the path of a notes folder.
func folderPath(folder string) (string, error) {
	dir := path.Clean(strings.Trim(strings.ReplaceAll(folder, `\`, "/"), "/ "))
	if !fs.ValidPath(dir) || dir != "." && isHiddenPath(dir) {
		return "", fmt.Errorf("%w: %q is not a valid name of a notes folder", pim.ErrInvalid, pim.SanitizeLine(folder, 100))
	}
	return dir, nil
}

// createUnique writes a file under the first free name. The file gets its name once it is complete.
func createUnique(r *os.Root, name string, data []byte) (at string, err error) {
	tmp := "." + shortid.New("note") + ".tmp"
	f, err := r.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // the same mode as the user's other notes
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, r.Remove(tmp))
	}
	for i := 1; i <= 100; i++ {
		at = name + ".md"
		if i > 1 {
			at = name + " " + strconv.Itoa(i) + ".md"
		}
		if err = rename.NoReplace(r, tmp, r, at); err == nil {
			return at, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return "", errors.Join(err, r.Remove(tmp))
}

// maxName bounds the name of a file, in bytes.
const maxName = 120

// fileName returns a file name for a title: it removes characters that a file
// system of any supported OS rejects.
func fileName(title string) (string, error) {
	s := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#^[]`, r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, pim.SanitizeLine(title, 200))
	s = strings.Trim(strings.Join(strings.Fields(s), " "), ". ")
	for len(s) > maxName {
		_, last := lastRune(s)
		s = strings.TrimRight(s[:len(s)-last], ". ")
	}
	if s == "" {
		return "", fmt.Errorf("%w: the title of a note must contain a letter", pim.ErrInvalid)
	}
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, stem) || len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) && stem[3] >= '0' && stem[3] <= '9' {
		s = "Note " + s // devices of Windows
	}
	return s, nil
}

func lastRune(s string) (r rune, size int) {
	for i, c := range s {
		r, size = c, len(s)-i
	}
	return r, size
}

// TakeBack implements pim.Undoer. It does not delete a note that was changed since.
func (n *Notes) TakeBack(_ context.Context, undo []byte) error {
	var u createUndo
	if err := json.Unmarshal(undo, &u); err != nil || !fs.ValidPath(u.Path) {
		return fmt.Errorf("%w: invalid undo record", pim.ErrInvalid)
	}
	r, err := n.openRoot()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	b, err := r.ReadFile(u.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the note no longer exists", pim.ErrChanged)
	case err != nil:
		return fmt.Errorf("note %q: %w", pim.SanitizeLine(u.Path, 100), unwrapPathError(err))
	case sumOf(b) != u.Sum:
		return fmt.Errorf("%w: note %q", pim.ErrChanged, pim.SanitizeLine(u.Path, 100))
	}
	if err := r.Remove(u.Path); err != nil {
		return fmt.Errorf("note %q: %w", pim.SanitizeLine(u.Path, 100), unwrapPathError(err))
	}
	return nil
}
