package email

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ownID matches the Message-IDs of Hob's mails: text, thread, and number of Hob's mails before
// it in the thread. So a reply leads back to its thread even with programs that name only one
// earlier mail, and the count is preserved.
var ownID = regexp.MustCompile(`^hob\.([a-z2-7]{26})\.([0-9a-f]{16})\.([0-9]{1,4})@`)

func isOwnMessageID(id string) bool { return ownID.MatchString(id) }

// nameOf returns the Message-ID of a delivery, which is the same for each attempt.
func nameOf(delivery, thread string, hops int, host string) string {
	sum := sha256.Sum256([]byte(delivery))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return fmt.Sprintf("hob.%s.%s.%d@%s", id, thread, min(hops, 9999), host)
}

// threadOf returns the thread of a mail from its references, oldest first, and the number of
// Hob's mails before it.
func threadOf(id string, refers []string) (thread string, hops int) {
	for _, r := range refers {
		if m := ownID.FindStringSubmatch(r); m != nil {
			if thread == "" {
				thread = m[2]
			}
			if n, err := strconv.Atoi(m[3]); err == nil {
				hops = max(hops, n+1)
			}
		}
	}
	if thread == "" {
		root := id
		if len(refers) > 0 {
			root = refers[0]
		}
		thread = hashOf(root)
	}
	return thread, hops
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// chatOf returns the chat of a thread with one person, "ada@example.org/THREAD"; with several
// people it is the thread alone, which is the same for all.
func chatOf(address, thread string) string { return address + "/" + thread }

// splitChat reverses chatOf. An invalid thread is replaced by a valid one.
func splitChat(chat string) (address, thread string) {
	address, thread = chat, ""
	if i := strings.LastIndexByte(chat, '/'); i >= 0 {
		address, thread = chat[:i], chat[i+1:]
	}
	if len(thread) != 16 || strings.Trim(thread, "0123456789abcdef") != "" {
		thread = hashOf(chat)
	}
	return address, thread
}
