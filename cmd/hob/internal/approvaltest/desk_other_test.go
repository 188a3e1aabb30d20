//go:build !linux

package approvaltest

import "testing"

func openDesktop(t *testing.T) *chatChannel {
	t.Skip("notifications are tested on Linux")
	return nil
}
