package files

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"hob/tools"
)

// decodeText converts the bytes of a file to text. note describes the conversion. ok is false for
// binary files.
func decodeText(b []byte) (text, note string, ok bool) {
	if u, is := utf16Text(b); is {
		return u, "converted from UTF-16", true
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(b[:min(len(b), 8192)], 0) >= 0 {
		return "", "", false
	}
	if utf8.Valid(b) {
		return string(b), "", true
	}
	bad := 0
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		rest = rest[n:]
	}
	if bad*10 > len(b) {
		return "", "", false
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), fmt.Sprintf("%d bytes were not UTF-8 and are shown as \uFFFD", bad), true
}

func utf16Text(b []byte) (string, bool) {
	if !bytes.HasPrefix(b, []byte{0xff, 0xfe}) && !bytes.HasPrefix(b, []byte{0xfe, 0xff}) || len(b)%2 != 0 {
		return "", false
	}
	out, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(b)
	if err != nil {
		return "", false
	}
	return string(out), true
}

// describeBinary returns the type of a file that cannot be shown as text.
func describeBinary(name string, b []byte) string {
	kind := http.DetectContentType(b)
	kind, _, _ = strings.Cut(kind, ";")
	if kind == "text/plain" {
		return "text in an unknown encoding, not UTF-8"
	}
	if ext := strings.TrimPrefix(filepath.Ext(name), "."); kind == "application/octet-stream" && ext != "" {
		return "not text but " + strings.ToUpper(ext) + " data"
	}
	return "not text but " + kind
}

// formatSize formats a number of bytes for the user: "812 bytes", "12 KB", "3.4 MB".
func formatSize(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1<<20:
		return strconv.FormatInt((n+512)>>10, 10) + " KB"
	case n < 1<<30:
		return trimZero(float64(n)/(1<<20)) + " MB"
	}
	return trimZero(float64(n)/(1<<30)) + " GB"
}

func trimZero(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

// Errors that are wrapped by a *tools.Error with the code PolicyDenied.
var (
	// ErrNotAllowed means that the path is not in an allowed folder, or that a link in it leads out
	// of the folder.
	ErrNotAllowed = errors.New("not in an allowed folder")
	// ErrProtected means that the item contains keys, starts programs or belongs to Hob.
	ErrProtected = errors.New("a protected path")
	// ErrSpecial means that the item is a device, pipe or socket.
	ErrSpecial = errors.New("not an ordinary file")
	// ErrLinked means that the file has several hard links.
	ErrLinked = errors.New("a file with several hard links")
)

// protectedPathError returns the error for a protected path. label is the name of the file in
// messages: Clean if it is from the caller, a string if it was found on the disk.
func protectedPathError(label any, why string) error {
	e := tools.Errorf(tools.PolicyDenied, "%s is %w (%s)", label, tools.CleanErr(ErrProtected), tools.Clean(why))
	e.Remedy = "Hob's file tools never access protected paths; use another program"
	return e
}

func specialFileError(label any) error {
	return tools.Errorf(tools.Unsupported, "%s is %w but a device, a pipe or a socket", label, tools.CleanErr(ErrSpecial))
}
