package vault

import (
	"bytes"
	"io"
	"testing"

	"filippo.io/age"
)

func encryptText(t *testing.T, to age.Recipient, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	must(t, err)
	_, err = io.WriteString(w, text)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}
