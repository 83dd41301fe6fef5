// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void free_handle(CURL **handle)
{
	curl_easy_cleanup(*handle);
}
#define cleanup_handle cleanup(free_handle)

static void free_list(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}
#define cleanup_list cleanup(free_list)

/* Fewer bytes than were offered end the transfer. */
static size_t take_bytes(char *bytes, size_t size, size_t nr, void *data)
{
	struct text *answer = data;

	if (answer->len + nr > HTTP_ANSWER_MAX)
		return 0;
	text_append_len(answer, bytes, nr);
	return answer->error ? 0 : nr;
}

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct text line cleanup_text = {0};
	struct curl_slist *longer;

	text_printf(&line, "%s: %s", name, value);
	longer = line.error ? NULL : curl_slist_append(*list, line.data);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

/* A token that anybody could read on the way is not sent. */
static bool is_https(const char *url)
{
	return !strncmp(url, "https://", strlen("https://"));
}

static void set_up(CURL *handle, const struct http_call *call, struct text *answer, char *reason)
{
	curl_easy_setopt(handle, CURLOPT_URL, call->url);
	curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, (long)call->timeout_s);
	curl_easy_setopt(handle, CURLOPT_TIMEOUT, (long)call->timeout_s);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, answer);
	/* the authorities of the machine may vouch for nobody here */
	curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(handle, CURLOPT_CAINFO, call->ca_file ? call->ca_file : "");
	if (call->method)
		curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
	if (call->body)
		curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call->body);
}

int http_ask(const struct http_call *call, long *ret_status, struct text *answer, char *error)
{
	CURL *handle cleanup_handle = curl_easy_init();
	struct curl_slist *headers cleanup_list = NULL;
	struct text bearer cleanup_text = {0};
	char reason[CURL_ERROR_SIZE] = "";
	CURLcode code;
	int r = handle ? 0 : -ENOMEM;

	if (!r && call->body)
		r = add_header(&headers, "Content-Type", call->content_type);
	if (!r && call->token && is_https(call->url)) {
		text_printf(&bearer, "Bearer %s", call->token);
		r = bearer.error ? bearer.error
				 : add_header(&headers, "Authorization", bearer.data);
	}
	if (r)
		return r;
	set_up(handle, call, answer, reason);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
	code = curl_easy_perform(handle);
	if (answer->error)
		return answer->error;
	if (code == CURLE_WRITE_ERROR)
		snprintf(error, HTTP_ERROR_MAX, "the answer is longer than %d bytes",
			 HTTP_ANSWER_MAX);
	else if (code != CURLE_OK)
		snprintf(error, HTTP_ERROR_MAX, "%s", *reason ? reason : curl_easy_strerror(code));
	if (code != CURLE_OK)
		return -EIO;
	curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, ret_status);
	return 0;
}
