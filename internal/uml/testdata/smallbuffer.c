/* What User-Mode Linux does where the host's floating-point state is larger than
 * its buffer: reads a process's, and writes it back, 832 bytes of it (x87, SSE
 * and AVX). Ends with the error's number. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char before[832], after[832];

int main(void)
{
	int pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	struct iovec state = {before, sizeof before}, again = {after, sizeof after};
	if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &state))
		return errno;
	before[160] ^= 0x55; /* in xmm0, which is in use from then on */
	before[512] |= 2;
	if (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &state) || ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &again))
		return errno;
	ptrace(PTRACE_KILL, pid, 0, 0);
	return memcmp(before + 160, after + 160, 256) ? 100 : 0;
}
