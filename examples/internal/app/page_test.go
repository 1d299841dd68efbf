package app

import "testing"

func TestAddressOfSSH(t *testing.T) {
	for connection, want := range map[string]string{"10.0.0.7 52311 192.0.2.8 22": "192.0.2.8", "": "", "garbage": ""} {
		if got := sshAddress(connection); got != want {
			t.Errorf("%q: %q, want %q", connection, got, want)
		}
	}
}
