package transfer

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// sealer forwards writes and computes the seal of the written bytes.
type sealer struct {
	w   io.Writer
	mac hash.Hash
}

func newSealer(w io.Writer, key []byte) *sealer {
	return &sealer{w: w, mac: hmac.New(sha256.New, key)}
}

func (s *sealer) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.mac.Write(b[:n])
	return n, err
}

func (s *sealer) hexSum() string { return hex.EncodeToString(s.mac.Sum(nil)) }

const (
	// block is the size of the pieces in which a sealed file is verified while it is read.
	block = 1 << 20
	// maxEnd limits the length of the last line.
	maxEnd = 4096
)

// sealCheck reads a verified file. The file could change after the check, so sealCheck keeps the
// digest of each block and returns only unchanged blocks.
type sealCheck struct {
	r      io.ReaderAt
	size   int64 // size without the last line
	blocks [][sha256.Size]byte
	at     int
	have   []byte
}

// ErrChanged reports that a file changed after its seal was checked.
var ErrChanged = errors.New("the file was changed while it was read; import it again")

// checkSeal reads the whole file once. ok reports whether the file has a valid seal for key.
func checkSeal(r io.ReaderAt, size int64, key []byte) (_ *sealCheck, ok bool, err error) {
	tail := make([]byte, min(size, maxEnd))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	e, n, ok := lastLine(tail)
	if !ok {
		return nil, false, nil
	}
	s := &sealCheck{r: r, size: size - int64(n)}
	mac := hmac.New(sha256.New, key)
	for at := int64(0); at < s.size; at += block {
		b := make([]byte, min(block, s.size-at))
		if _, err := r.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		mac.Write(b)
		s.blocks = append(s.blocks, sha256.Sum256(b))
	}
	want, err := hex.DecodeString(e.Seal)
	return s, err == nil && hmac.Equal(want, mac.Sum(nil)), nil
}

// lastLine parses the seal at the end of a file, in either format, and returns its length in bytes.
func lastLine(tail []byte) (e exportTrailer, n int, ok bool) {
	text := bytes.TrimRight(tail, "\r\n")
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	n = len(line) + len(tail) - len(text)
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte(open)), []byte(shut))
	var last struct {
		End *exportTrailer `json:"end"`
	}
	if json.Unmarshal(line, &last) != nil || last.End == nil {
		return e, 0, false
	}
	return *last.End, n, true
}

// Read implements io.Reader.
func (s *sealCheck) Read(b []byte) (int, error) {
	if len(s.have) == 0 {
		if s.at == len(s.blocks) {
			return 0, io.EOF
		}
		at := int64(s.at) * block
		next := make([]byte, min(block, s.size-at))
		if _, err := s.r.ReadAt(next, at); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("transfer: read the file: %w", err)
		}
		if sha256.Sum256(next) != s.blocks[s.at] {
			return 0, ErrChanged
		}
		s.at++
		s.have = next
	}
	n := copy(b, s.have)
	s.have = s.have[n:]
	return n, nil
}
