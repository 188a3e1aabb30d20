package email

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
)

// ownID matches the Message-IDs of Hob's emails. They contain a digest of the delivery's id, the
// thread, and the number of Hob's earlier emails in the thread. A reply can therefore be assigned
// to its thread, with the count, even if the mail program references only one earlier email.
var ownID = lazyregexp.New(`^hob\.([a-z2-7]{26})\.([0-9a-f]{16})\.([0-9]{1,4})@`)

func isOwnMessageID(id string) bool { return ownID.MatchString(id) }

// nameOf returns the Message-ID for a delivery. It is the same for each attempt.
func nameOf(delivery, thread string, hops int, host string) string {
	sum := sha256.Sum256([]byte(delivery))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return fmt.Sprintf("hob.%s.%s.%d@%s", id, thread, min(hops, 9999), host)
}

// threadOf returns the thread of an email from its references, oldest first, and the number of
// Hob's earlier emails.
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

// chatOf returns the chat of a thread with one person, "ada@example.org/THREAD". A thread with
// several people is one chat, which is the same for all of them.
func chatOf(address, thread string) string { return address + "/" + thread }

// splitChat reverses chatOf. It replaces an invalid thread with a valid one.
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
