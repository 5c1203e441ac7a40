#include "connection.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {
std::recursive_mutex mutex;
enum class State { NEW, CONNECTED, NONE, FORKED } state = State::NEW;
int line = -1;        // our end
bool started = false;  // something may be under way, or has failed
bool noted = false;    // the simulated clock may be ahead of the host's
std::string unsent;    // what was told and can wait for what is sent next
constexpr size_t MOST_UNSENT = 64 << 10;
Device gpu;
thread_local hipError_t last_error = hipSuccess;

void gone() {
  complain("the simulator has ended; so does this program, with code %d", GPUSIM_EXIT_GONE);
  fflush(stdout);
  _exit(GPUSIM_EXIT_GONE);
}

void write_all(const void* data, size_t size) {
  auto at = static_cast<const char*>(data);
  while (size) {
    ssize_t n = send(line, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) gone();
    at += n, size -= n;
  }
}

void read_all(void* data, size_t size) {
  auto at = static_cast<char*>(data);
  while (size) {
    ssize_t n = recv(line, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) gone();
    at += n, size -= n;
  }
}

void put_off(const Request& request) {
  uint32_t head[2] = {request.op, uint32_t(request.body.size())};
  unsent.append(reinterpret_cast<const char*>(head), sizeof head).append(request.body);
}

void write_request(const Request& request) {
  put_off(request);
  write_all(unsent.data(), unsent.size());
  unsent.clear();
}

bool pass_descriptors(int to, int first, int second) {
  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(2 * sizeof(int));
  int both[2] = {first, second};
  memcpy(CMSG_DATA(head), both, sizeof both);
  return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

void greet() {
  Answer answer = ask(Request(OP_HELLO).put<uint32_t>(getpid()).bytes(GPUSIM_VERSION, strlen(GPUSIM_VERSION)));
  gpu.capacity = answer.get<uint64_t>();
  for (uint32_t n = answer.get<uint32_t>(); n; n--) {
    int number = answer.get<int32_t>();
    gpu.attributes.push_back({number, answer.get<int32_t>()});
  }
  for (auto& properties : gpu.properties) properties = answer.text();
  gpu.architecture = answer.text();
  for (uint32_t n = answer.get<uint32_t>(); n; n--) {
    int number = answer.get<int32_t>();
    gpu.refused_attributes.push_back({number, answer.text()});
  }
}

State connect_now() {
  const char* name = getenv(GPUSIM_SOCKET);
  if (!name) {
    complain("no simulator: run this program by 'gpusim hip -- PROGRAM'");
    return State::NONE;
  }
  int pair[2], memory = memfd_create("gpusim device memory", MFD_CLOEXEC);
  if (memory < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
    complain("no device memory: %s", strerror(errno));
    return State::NONE;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t length = strnlen(name, sizeof address.sun_path - 1);
  memcpy(address.sun_path + 1, name, length);
  int to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (to < 0 || connect(to, reinterpret_cast<sockaddr*>(&address), offsetof(sockaddr_un, sun_path) + 1 + length) ||
      !pass_descriptors(to, pair[1], memory)) {
    complain("no simulator at %s (%s): it has ended", name, strerror(errno));
    return State::NONE;
  }
  close(to);
  close(pair[1]);
  line = pair[0];
  state = State::CONNECTED;
  greet();
  void* wanted = reinterpret_cast<void*>(GPUSIM_BASE);
  // pointers of the device are then pointers of this process
  void* at = mmap(wanted, gpu.capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, memory, 0);
  close(memory);
  if (at != wanted) {
    complain("device memory cannot be mapped at %p: %s", wanted, at == MAP_FAILED ? strerror(errno) : "in use");
    close(line);
    return State::NONE;
  }
  madvise(at, gpu.capacity, MADV_DONTFORK);
  return State::CONNECTED;
}

void in_child_of_fork() {
  new (&mutex) std::recursive_mutex;  // whoever held it is not in this process
  if (state == State::CONNECTED) {
    close(line);
    unsent.clear();
    state = State::FORKED;
  }
}
}  // namespace

void complain(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "gpusim: %s\n", text);
}

bool connected() {
  if (state == State::CONNECTED) return true;
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (state == State::NEW) {
    pthread_atfork(nullptr, nullptr, in_child_of_fork);
    state = connect_now();
  } else if (state == State::FORKED) {
    complain("a process that was forked from one that uses the GPU cannot use it; start a program of its own");
    state = State::NONE;
  }
  return state == State::CONNECTED;
}

const Device& device() { return gpu; }

Answer ask(const Request& request) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  write_request(request);
  int32_t head[2];
  read_all(head, sizeof head);
  Answer answer;
  answer.status = head[0];
  answer.body.resize(uint32_t(head[1]));
  read_all(&answer.body[0], answer.body.size());
  return answer;
}

void tell(const Request& request) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  noted = true;
  put_off(request);
  if (unsent.size() < MOST_UNSENT) return;
  write_all(unsent.data(), unsent.size());
  unsent.clear();
}

void start(const Request& request) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  started = noted = true;
  write_request(request);
}

hipError_t finish(uint64_t stream) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (noted) tell(Request(OP_WAITED).put<uint64_t>(stream));
  if (stream == ~0ull) noted = false;  // of the other streams the clock does not yet know that they were waited for
  return settle();
}

hipError_t settle() {
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (!started) return hipSuccess;
  Answer answer = ask(Request(OP_SETTLE));
  started = answer.status != hipSuccess;  // an error stays
  if (!answer.body.empty()) {
    fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    fflush(stdout);
  }
  return answer.status;
}

hipError_t fail(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

hipError_t take_last_error(bool keep) {
  hipError_t error = last_error;
  if (!keep) last_error = hipSuccess;
  return error;
}

void complain_of_missing(const std::string& name) {
  static std::set<std::string> said;
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (said.insert(name).second) complain("%s is not supported", name.c_str());
}

int gpusim_unsupported(const char* name) {
  complain_of_missing(name);
  return strncmp(name, "hiprtc", 6) ? fail(hipErrorNotSupported) : 11;  // HIPRTC_ERROR_INTERNAL_ERROR
}
