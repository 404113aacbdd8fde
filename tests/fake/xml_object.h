/* SPDX-License-Identifier: GPL-3.0-or-later */
/* xml_object: objects as the headers of the XML API and of media downloads show them. */
#ifndef FAKE_XML_OBJECT_H
#define FAKE_XML_OBJECT_H

#include "insert.h"

/* Conditions, class, custom time and x-goog-meta-… from the headers; -1 after having answered. */
int xml_fill_insert(struct request *request, struct insert *insert);
/* x-goog-hash, x-goog-generation and so on for the response made before. */
void xml_add_object_headers(struct request *request, const struct object *object);

#endif
