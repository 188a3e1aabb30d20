//go:build !linux

package asked

import "testing"

func openDesktop(t *testing.T) *place {
	t.Skip("notes are looked at on Linux")
	return nil
}
