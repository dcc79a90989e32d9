package client

import (
	"fmt"
	"os"
	"strings"
)

// The variables that hold an agent's token, or name the file that holds it, on
// both sides. A command line would show it to every user of the machine.
const (
	TokenVariable     = "AGENT_TOKEN"
	TokenFileVariable = TokenVariable + "_FILE"
)

// TakeToken returns the token of this process's environment, empty without one,
// and removes it from there, so that no command that this process starts has it.
// Errors do not contain it.
func TakeToken() (string, error) {
	token, source := os.Getenv(TokenVariable), TokenVariable
	if file := os.Getenv(TokenFileVariable); file != "" {
		if token != "" {
			return "", fmt.Errorf("%s and %s are both set: keep one", TokenVariable, TokenFileVariable)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", TokenFileVariable, err)
		}
		token, source = strings.TrimSpace(string(text)), TokenFileVariable+"="+file
		if token == "" {
			return "", fmt.Errorf("%s: the file is empty", source)
		}
	}
	if strings.Trim(token, tokenCharacters) != "" {
		return "", fmt.Errorf("%s: a token is letters, digits and any of -._~+/=: make one with: openssl rand -hex 32", source)
	}
	return token, os.Unsetenv(TokenVariable)
}

// tokenCharacters are those of RFC 6750, 2.1.
const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="
