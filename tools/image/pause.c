/* The process that holds a pod's namespaces: it sleeps, reaps orphans (a pod may share its pid namespace) and leaves when told. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

static void leave(int signal_number) {
  (void)signal_number;
  _exit(0);
}

int main(void) {
  signal(SIGCHLD, reap);
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  for (;;) pause();
}
