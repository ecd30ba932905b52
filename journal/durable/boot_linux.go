package durable

import (
	"os"
	"strings"
)

// bootID names this boot of the kernel (random(4), boot_id), "" where /proc
// does not say.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
