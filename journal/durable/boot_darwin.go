package durable

import "syscall"

// bootID names this boot of the kernel (sysctl kern.bootsessionuuid), "" where
// it does not say.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
