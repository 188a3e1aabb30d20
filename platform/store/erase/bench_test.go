package erase

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomBytes returns random bytes, which stand for the data of a picture.
func randomBytes(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func BenchmarkFind(b *testing.B) {
	const size = 1 << 20
	prose := strings.Repeat("The quick brown fox said \"jumping\" extraordinarily often.\n", size/57)
	s := NewScrubber("Kestrel-9981", "the spare key is under the pot", "ключ под горшком")
	for name, text := range map[string][]byte{
		"picture": randomBytes(size), "picture in base64": []byte(base64.StdEncoding.EncodeToString(randomBytes(size * 3 / 4))),
		"picture in hexadecimal": []byte(hex.EncodeToString(randomBytes(size / 2))), "prose": []byte(prose), "prose in JSON": []byte(quoteJSON(prose)),
		"prose in base64": []byte(base64.StdEncoding.EncodeToString([]byte(prose[:size*3/4]))), "one sign": bytes.Repeat([]byte("Z"), size),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if s.findSpans(text, 0) != nil {
					b.Fatal("unexpected match")
				}
			}
		})
	}
}
