/* Preloaded into User-Mode Linux where the host's floating-point state is larger
 * than its buffer for it, as with AMX: PTRACE_SETREGSET takes nothing but the
 * host's size. The buffer is padded with zeros, and says that it holds those
 * parts of the state only that end within it. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define PRESENT 512 /* where an XSAVE area says which of its parts are in use */

static long (*next)(int, int, void *, void *);
static char whole[64 << 10]; /* static, because a kernel's stack is small */
static size_t host_size;

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	va_start(args, request);
	int pid = va_arg(args, int);
	void *addr = va_arg(args, void *), *data = va_arg(args, void *);
	va_end(args);
	if (!next)
		next = dlsym(RTLD_NEXT, "ptrace");
	struct iovec *given = data;
	if (request != PTRACE_SETREGSET || addr != (void *)NT_X86_XSTATE || given->iov_len <= PRESENT + 8)
		return next(request, pid, addr, data);

	struct iovec host = {whole, sizeof whole};
	if (!host_size && !next(PTRACE_GETREGSET, pid, addr, &host))
		host_size = host.iov_len;
	if (host_size <= given->iov_len)
		return next(request, pid, addr, data);
	unsigned long long present, known = 3; /* x87 and SSE have no leaf */
	unsigned size, offset, c, d;
	for (int part = 2; part < 63; part++)
		if (__get_cpuid_count(13, part, &size, &offset, &c, &d) && size && offset + size <= given->iov_len)
			known |= 1ull << part;
	host.iov_len = host_size;
	memset(whole, 0, host_size);
	memcpy(whole, given->iov_base, given->iov_len);
	memcpy(&present, whole + PRESENT, sizeof present);
	present &= known;
	memcpy(whole + PRESENT, &present, sizeof present);
	return next(request, pid, addr, &host);
}
