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
	failOnError(t, err)
	_, err = io.WriteString(w, text)
	failOnError(t, err)
	failOnError(t, w.Close())
	return out.Bytes()
}
