package trash

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func indexRecord(version uint64, path string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, version)
	b = binary.LittleEndian.AppendUint64(b, 1234)
	b = binary.LittleEndian.AppendUint64(b, 0x01d9b0a0a0a0a0a0)
	units := append(utf16.Encode([]rune(path)), 0)
	if version == 2 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(units)))
	}
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	if version == 1 {
		b = append(b, make([]byte, 24+520-len(b))...)
	}
	return b
}

func TestParseIndex(t *testing.T) {
	tests := []struct {
		name, want string
		in         []byte
	}{
		{"version 2", `C:\Users\Zoë\a b.txt`, indexRecord(2, `C:\Users\Zoë\a b.txt`)},
		{"version 1", `D:\x`, indexRecord(1, `D:\x`)},
		{"empty", "", nil},
		{"cut off", "", indexRecord(2, `C:\Users\Zoë\a b.txt`)[:40]},
		{"other version", "", indexRecord(3, `C:\x`)},
		{"no name", "", indexRecord(2, "")},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseIndex(tc.in)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("parseIndex = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add(indexRecord(2, `C:\x`))
	f.Add(indexRecord(1, `C:\x`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseIndex(b); err == nil && s == "" {
			t.Error("parseIndex returned neither a path nor an error")
		}
	})
}

func TestCandidate(t *testing.T) {
	tests := []struct {
		name string
		n    int
		want string
	}{
		{"a.txt", 1, "a.txt"},
		{"a.txt", 2, "a.2.txt"},
		{".bashrc", 2, ".bashrc.2"},
		{"noext", 3, "noext.3"},
		{"a.a long sentence after a dot", 2, "a.a long sentence after a dot.2"},
	}
	for _, tc := range tests {
		if got := candidateName(tc.name, tc.n, "."); got != tc.want {
			t.Errorf("candidate(%q, %d) = %q, want %q", tc.name, tc.n, got, tc.want)
		}
	}
	if got := candidateName(strings.Repeat("ä", 127)+".x", 12, "."); len(got) > 245 || !utf8.ValidString(got) {
		t.Errorf("long name: %d bytes, %q", len(got), got)
	}
}
