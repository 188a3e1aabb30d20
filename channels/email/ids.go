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

// ownID is the form of the names of Hob's mails: which text it is, the thread, how many
// of Hob's mails stand before it in the thread. So an answer leads back to its thread
// with programs that name one earlier mail only, and the count survives everywhere.
var ownID = regexp.MustCompile(`^hob\.([a-z2-7]{26})\.([0-9a-f]{16})\.([0-9]{1,4})@`)

func ours(id string) bool { return ownID.MatchString(id) }

// nameOf makes the Message-ID of a delivery: the same each time it is sent.
func nameOf(delivery, thread string, hops int, host string) string {
	sum := sha256.Sum256([]byte(delivery))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return fmt.Sprintf("hob.%s.%s.%d@%s", id, thread, min(hops, 9999), host)
}

// threadOf finds the thread of a mail by what it refers to, the oldest first, and
// how many of Hob's mails are known to stand before it.
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

// chatOf names a thread with somebody, "ada@example.org/THREAD"; among several people
// it names the thread alone, as it is the same for all of them.
func chatOf(address, thread string) string { return address + "/" + thread }

// splitChat is its reverse. A thread that is not one is made one.
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
